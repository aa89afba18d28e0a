"""Execute the project's notebooks and store their outputs in them: `python -m tools.notebooks RESULTS [NAME ...]`.

A reader of the project's files then sees what a cell shows, where nothing runs. NAME is a notebook's, without suffix;
Default: all. An exercise is executed as students find it, and with the answers that its solved copy has.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat

from lab import app as api
from lab.cli import output
from lab.errors import LabError
from lab.ext.course import exercises as course
from lab.report import notebooks, stored
from lab.spec import shipped

__all__ = ["classroom", "filled", "given", "keep", "pages", "sources_of"]

_SAY = re.compile(r'(exercise\.say\("([\w-]+)", )(.+?)(\)  # your turn)')


def classroom(solved: bool = False) -> dict[str, Path]:
    """Return name -> notebook of the exercises, as students find them or solved."""
    folder = shipped.folder() / "notebooks" / "classroom" / ("solved" if solved else "")
    return {name: folder / f"{name}.ipynb" for name in course.exercises()}


def pages() -> dict[str, Path]:
    """Return name -> notebook of the lab's own articles, and of their index."""
    own = shipped.folder() / "notebooks"
    return {name: path for name, path in notebooks.found().items() if path.parent == own}


def sources_of(name: str) -> list[str]:
    """Return the hashes of the files that a notebook's outputs speak of: an exercise's, or those of an article."""
    if name in course.exercises():
        files = [course.exercises()[name]]
    else:
        folders = shipped.folder() / "experiments"
        files = [path for path in folders.glob("*/*.*" if name == notebooks.INDEX else f"{name}/*.*") if path.is_file()]
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]


def given(notebook: Any) -> dict[str, str]:
    """Return step -> what is given as its answer, as code; `...` where nothing is."""
    code = (cell.source for cell in notebook.cells if cell.cell_type == "code")
    return {found[2]: found[3] for source in code for found in _SAY.finditer(source)}


def filled(notebook: Any, answers: dict[str, str]) -> Any:
    """Return the notebook with these answers in place of what it has."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = _SAY.sub(lambda found: f"{found[1]}{answers.get(found[2], found[3])}{found[4]}", cell.source)
    return notebook


def keep(paths: Iterable[Path], results: Path) -> None:
    """Execute notebooks on the store `results`, and store their outputs in them.

    What their cells write goes with a temporary folder. Raises NotebookFailed, InputError, MachineError.
    """
    found, results = list(paths), results.absolute()
    with tempfile.TemporaryDirectory(prefix="lab-") as scratch, contextlib.chdir(scratch):
        executed = notebooks.execute({path: notebooks.read(path) for path in found}, results, output.say)
    for path, notebook in zip(found, executed, strict=True):
        nbformat.write(stored.reduced(notebook, stored.digest(notebook, sources_of(path.stem))), path)
        output.say(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


def _wanted(names: list[str], results: Path) -> Iterator[Path]:
    """Yield the notebooks of these names; of an exercise first its solved copy, made anew of what students find.

    A page whose claims were not all run is left as it is.
    """
    for name, path in pages().items():
        if not names or name in names:
            claims = api.load(*([] if name == notebooks.INDEX else [name]), results=results)
            lacking = [claim.id for claim in claims if claim.verdict.kind == "skipped"]
            if lacking:
                output.say(f"{path.name} stays as it is: {results} lacks {', '.join(lacking)}")
            else:
                yield path
    for name, path in classroom().items():
        if not names or name in names:
            copy = classroom(solved=True)[name]
            answers = given(nbformat.read(copy, as_version=4))
            nbformat.write(filled(nbformat.read(path, as_version=4), answers), copy)
            yield from (copy, path)


if __name__ == "__main__":
    try:
        keep(_wanted(sys.argv[2:], Path(sys.argv[1])), Path(sys.argv[1]))
    except LabError as error:
        output.say(str(error))
        sys.exit(error.exit_code)
