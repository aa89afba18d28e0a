"""The code in notebooks' cells is typed as strictly as the lab is, and what is stored of their outputs is in order."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from lab.report import stored
from tools import notebooks as keeping

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted([*ROOT.glob("notebooks/**/*.ipynb"), *ROOT.glob("packs/*/notebooks/*.ipynb")])


def module(path: Path) -> tuple[str, str]:
    """(name, source) of a notebook's code."""
    cells = enumerate(nbformat.read(path, as_version=4).cells)
    name = re.sub(r"\W", "_", f"{path.parent.name}_{path.stem}")
    return name, "".join(f"# cell {number}\n{cell.source}\n" for number, cell in cells if cell.cell_type == "code")


def test_the_code_of_all_cells_is_typed(tmp_path: Path) -> None:
    for path in NOTEBOOKS:
        name, source = module(path)
        (tmp_path / f"{name}.py").write_text(source)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--pretty", *sorted(map(str, tmp_path.iterdir()))],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", keeping.pages().values(), ids=lambda path: path.stem)
def test_what_is_stored_of_a_page_is_of_its_claims_as_they_are(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    made_of, shown = stored.made_of(notebook), [cell for cell in notebook.cells if cell.get("outputs")]
    assert bool(made_of) == bool(shown)
    if made_of:
        assert made_of == stored.digest(notebook, keeping.sources_of(path.stem)), "`make notebooks`"


def cell(**data: str) -> Any:
    output = nbformat.v4.new_output("execute_result", {key.replace("_", "/"): value for key, value in data.items()})
    return nbformat.v4.new_code_cell("1", outputs=[output])


def test_nothing_of_a_machine_is_stored() -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[
            cell(text_html='<a href="../results/5b/x/" title="5b">trial</a> <a href="https://example.org/">out</a>'),
            cell(text_html="<div>after the fact, on 2026-11-22</div>"),
        ]
    )
    notebook.cells[0].outputs.append(nbformat.v4.new_output("stream", name="stderr", text="took 3 s"))
    progress = nbformat.v4.new_output("display_data", {"text/html": "<progress>"}, metadata={"progress": True})
    notebook.cells[0].outputs.append(progress)
    kept = stored.reduced(notebook, "made of this")
    assert [[each.data for each in each_cell.outputs] for each_cell in kept.cells] == [
        [{"text/html": 'trial <a href="https://example.org/">out</a>'}],
        [{"text/html": "<div>after the fact</div>"}],
    ]
    assert stored.made_of(kept) == "made of this"


def test_other_code_or_another_claim_makes_stored_outputs_old() -> None:
    notebook = nbformat.v4.new_notebook(cells=[cell(text_plain="1")])
    before = stored.digest(notebook, ["a claim"])
    assert stored.digest(notebook, ["another"]) != before
    notebook.cells[0].outputs = []
    assert stored.digest(notebook, ["a claim"]) == before
    notebook.cells[0].source = "2"
    assert stored.digest(notebook, ["a claim"]) != before
