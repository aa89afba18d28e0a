"""The exercises as students do them: with the hidden answers filled in, and with wrong ones."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pytest

from lab import shipped
from lab.report import notebooks

FOLDER = Path(__file__).parents[2] / "notebooks" / "classroom"
BOOKS = sorted(FOLDER.glob("*.ipynb"))
BLANK = re.compile(r"^([A-Z]+) = (.*?)  # (?:\w+; )?your turn$", re.MULTILINE)
GIVEN = re.compile(r"^([A-Z]+) = (.*)$", re.MULTILINE)

# Mistakes that are near at hand; a value that is not here stays as it is in the notebook, which is wrong too.
WRONG = {
    "WITH": '"949.3 Mbit/s"',  # the option forgotten
    "MTU": '"6000 B"',
    "RMEM": "500_000",  # the product itself, as if all of a buffer were window
    "PACKETS": "690_608",  # the ACKs forgotten
    "WAIT": "12",
    "TIME": '"4.0 ms"',
    "WAY": '"nodelay"',
    "PAYLOAD": '"460 B"',  # the timestamps forgotten
    "MSS": "1000",
}

Do = Callable[[Mapping[str, Mapping[str, str]]], dict[str, list[str]]]


@pytest.fixture
def do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Do:
    """Runs all exercises in a copy of their folder, blanks filled in; what the self-checks of each say, in order."""

    def run(filled: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
        here = tmp_path / "classroom"
        shutil.copytree(FOLDER, here, ignore=shutil.ignore_patterns("*.py", "results", ".ipynb_checkpoints"))
        for book in BOOKS:
            notebook = nbformat.read(book, as_version=4)
            for cell in notebook.cells:
                if cell.cell_type == "code":
                    cell.source = BLANK.sub(partial(_fill, filled[book.stem]), cell.source)
            nbformat.write(notebook, here / book.name)
        monkeypatch.chdir(here)
        paths = [here / book.name for book in BOOKS]
        executed = notebooks.execute(paths, tmp_path / "results", here, lambda _: None)
        return {book.stem: list(_said(notebook)) for book, notebook in zip(BOOKS, executed, strict=True)}

    return run


def _fill(values: Mapping[str, str], blank: re.Match[str]) -> str:
    return f"{blank[1]} = {values.get(blank[1], blank[2])}"


def _said(notebook: Any) -> Iterator[str]:
    for cell in notebook.cells:
        if cell.cell_type == "code" and "claim.passed" in cell.source:
            yield cell.outputs[0].data["text/plain"].strip("'\"")


def _answers(book: Path) -> dict[str, str]:
    """What the notebook's hidden answers assign."""
    hidden = [cell.source for cell in nbformat.read(book, as_version=4).cells if cell.source.startswith("<details>")]
    code = "\n".join(block for text in hidden for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    return dict(GIVEN.findall(code))


def test_there_is_an_exercise_for_each_article() -> None:
    texts = {book.name: book.read_text() for book in BOOKS}
    ours = shipped.folder() / "notebooks"  # those of packs have none
    articles = {name for name, path in notebooks.found().items() if path.parent == ours} - {notebooks.INDEX}
    assert len(BOOKS) == len(articles) == 5
    for article, text in zip(_in_order(articles), texts.values(), strict=True):
        assert f"notebooks/{article}.ipynb" in text, "where to go on"
    index = (FOLDER / "README.md").read_text()
    assert re.findall(r"\(([\w-]+\.ipynb)\)", index) == list(texts), "the index lists them in order"


def _in_order(articles: Any) -> list[str]:
    order = ["tcp-timestamps", "tcp-bottleneck", "ack-rate", "tcp-nodelay", "asymmetric-mtu"]
    assert set(order) == set(articles)
    return order


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)
def test_an_exercise_is_as_a_student_should_find_it(book: Path) -> None:
    cells = nbformat.read(book, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    blanks = [name for cell in code for name, _ in BLANK.findall(cell.source)]
    assert not any(cell.outputs or cell.execution_count for cell in code), "not executed"
    assert sorted(blanks) == sorted(_answers(book)), "every blank has one hidden answer"
    assert sum("claim.passed" in cell.source for cell in code) == 2
    for link in re.findall(r"\]\(([^)]+)\)", "\n".join(cell.source for cell in cells)):
        assert (FOLDER / link).exists(), link


@pytest.mark.guest
def test_the_hidden_answers_are_right(do: Do) -> None:
    said = do({book.stem: _answers(book) for book in BOOKS})
    assert said == {book.stem: ["Right.", "Reached."] for book in BOOKS}


@pytest.mark.guest
def test_wrong_answers_are_told_so(do: Do) -> None:
    said = do({book.stem: WRONG for book in BOOKS})
    assert [len(each) for each in said.values()] == [2] * len(BOOKS)
    for book, each in said.items():
        assert all(text.startswith("Not yet: ") for text in each), (book, each)
