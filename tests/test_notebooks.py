"""The code in notebooks' cells is typed as strictly as the lab is, and what is stored of their outputs is in order."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import pytest

from lab.report import stored
from lab.spec import article as articles
from tools import notebooks as keeping

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted([*ROOT.glob("notebooks/**/*.ipynb"), *ROOT.glob("packs/*/notebooks/*.ipynb")])


def module(path: Path) -> tuple[str, str]:
    """(name, source) of a notebook's code."""
    cells = enumerate(nbformat.read(path, as_version=4).cells)
    name = re.sub(r"\W", "_", f"{path.parent.name}_{path.stem}")
    return name, "".join(f"# cell {number}\n{cell.source}\n" for number, cell in cells if cell.cell_type == "code")


@pytest.mark.long
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


class Figure(NamedTuple):
    """A figure in a text: its number, its unit ("" for a count or a ratio), and how many digits say something."""

    number: float
    unit: str
    digits: int

    def same(self, other: Figure) -> bool:
        """Equal in unit, and in the digits that both have."""
        digits = min(self.digits, other.digits)
        return self.unit == other.unit and f"{self.number:.{digits}g}" == f"{other.number:.{digits}g}"


_FIGURE = re.compile(r"(?<![\w.,/^-])(\d[\d,]*(?:\.\d+)?)(?:\s([GMk]bit/s|[mµn]?s|[GMkT]?i?B|%)(?!\w))?(?![\w^])")
_CELL = re.compile(r'data-label="(Claimed|Predicted|Measured)">(.*?)</td>', re.DOTALL)


def figures(text: str) -> Iterator[Figure]:
    """Figures of three digits and more; fewer are a round number, or chance."""
    for number, unit in _FIGURE.findall(text):
        digits = len(number.replace(",", "").replace(".", "").lstrip("0"))
        if digits >= 3:
            yield Figure(float(number.replace(",", "")), unit, digits)


def cells(html: str) -> Iterator[tuple[str, str]]:
    """(column, text) of the figures in the tables that a page stores."""
    for column, inside in _CELL.findall(html):
        yield column, unescape(re.sub(r"<[^>]*>", " ", inside)).replace("\N{NO-BREAK SPACE}", " ")


def typed(prose: str, html: str, quoted: str) -> list[Figure]:
    """Figures of the prose that trials measured, unless the article has them (`quoted`), or a law for any kernel."""
    shown = list(cells(html))
    measured = [each for column, text in shown if column == "Measured" for each in figures(text)]
    # A prediction beside which no law stands is a law itself.
    laws = [text.partition("law: ")[2] or text for column, text in shown if column == "Predicted"]
    given = [text for column, text in shown if column == "Claimed"]
    known = [each for text in (*laws, *given, quoted) for each in figures(text)]
    return [
        each
        for each in figures(prose)
        if any(map(each.same, measured))
        and not any(other.digits >= each.digits and each.same(other) for other in known)
    ]


def docstrings(folder: Path) -> Iterable[str]:
    return (ast.get_docstring(ast.parse(path.read_text())) or "" for path in folder.glob("[!_]*.py"))


ARTICLES = [path for path in keeping.pages().values() if (ROOT / "experiments" / path.stem).is_dir()]


@pytest.mark.parametrize("path", ARTICLES, ids=lambda path: path.stem)
def test_no_figure_is_typed_into_prose_that_a_trial_measures(path: Path) -> None:
    """Another kernel or another seed measures another figure: a view prints it, and prose goes without."""
    folder, notebook = ROOT / "experiments" / path.stem, nbformat.read(path, as_version=4)
    about = articles.load(folder)
    written = [each.source for each in notebook.cells if each.cell_type == "markdown"]
    outputs = [each for each_cell in notebook.cells for each in each_cell.get("outputs", ())]
    html = "".join(each.get("data", {}).get("text/html", "") for each in outputs)
    assert typed("\n".join([about.headline, about.answer, *written]), html, "\n".join(docstrings(folder))) == []


@pytest.mark.parametrize(
    ("prose", "found"),
    [
        ("The mean is 0.8648.", [0.8648]),
        ("The goodput is 211 Mbit/s.", [211]),  # with fewer digits
        ("It takes 399.96 s.", [399.96]),  # with more digits than the table
        ("The article has 94.4 Mbit/s, and the line 941.5 Mbit/s.", []),
        ("At 211 ms, 963 segments take 41 ms.", []),
    ],
)
def test_figures_that_a_trial_measured_are_found(prose: str, found: list[float]) -> None:
    html = "".join(
        f'<td data-label="{column}">{text}</td>'
        for column, text in [
            ("Measured", "<strong>0.8648</strong><br><small>0.8507 to 0.8788 (91 %), 10 trials</small>"),
            ("Measured", "<strong>211.2\N{NO-BREAK SPACE}Mbit/s</strong>"),
            ("Measured", "400.0 s"),
            ("Measured", "941.5 Mbit/s"),
            ("Predicted", "211.3 Mbit/s<br>law: 941.5 Mbit/s"),
            ("Claimed", "94.4 Mbit/s"),
            ("Measured", "94.40 Mbit/s"),
        ]
    )
    assert [each.number for each in typed(prose, html, "")] == found
