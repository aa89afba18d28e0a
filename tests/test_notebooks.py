"""The code in notebooks' cells is typed as strictly as the lab is."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted([*ROOT.glob("notebooks/**/*.ipynb"), *ROOT.glob("packs/*/notebooks/*.ipynb")])

WRITTEN = re.compile(r"%%writefile (\S+)\n")

# A blank of an exercise has one value, not any text: `WAY` is one of the ways to write.
BLANK = re.compile(r"^([A-Z]+) = (?=.*your turn$)", re.MULTILINE)


def modules(path: Path) -> Iterator[tuple[str, str]]:
    """(name, source) of a notebook's own code, and of each file that its cells write."""
    name, own = re.sub(r"\W", "_", f"{path.parent.name}_{path.stem}"), []
    for number, cell in enumerate(nbformat.read(path, as_version=4).cells):
        if cell.cell_type == "code":
            if written := WRITTEN.match(cell.source):
                source = BLANK.sub(r"\1: Final = ", cell.source[written.end() :])
                yield f"{name}_{Path(written[1]).stem}", f"from typing import Final\n{source}"
            else:
                own.append(f"# cell {number}\n{cell.source}\n")
    yield name, "".join(own)


def test_the_code_of_all_cells_is_typed(tmp_path: Path) -> None:
    for path in NOTEBOOKS:
        for name, source in modules(path):
            (tmp_path / f"{name}.py").write_text(source)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--pretty", *sorted(map(str, tmp_path.iterdir()))],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
