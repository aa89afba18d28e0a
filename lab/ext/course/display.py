"""Show grades in the terminal: the steps of each submission that are not right, and a table of totals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from lab.ext.course.grading import Grade, Grades
    from lab.ext.course.outcome import StepVerdict

_COLOURS = {"right": "green", "wrong": "red", "empty": "dim", "broken": "magenta"}


def render(found: Grades) -> RenderableType:
    """Return the submissions, one below the other.

    For several submissions, a table with a row for each submission follows.
    """
    submissions = found.by_submission()
    lines = [line for name, grades in submissions.items() for line in _submission(name, grades, found)]
    return Group(*lines, *([_sums(found)] if len(submissions) > 1 else []))


def _submission(name: str, grades: Sequence[Grade], found: Grades) -> Iterator[RenderableType]:
    yield Text(name, style="bold")
    for (file, exercise), each in groupby(grades, key=lambda grade: (grade.file, grade.exercise)):
        steps = list(each)
        if exercise:
            yield Text.assemble(f"  {exercise}: ", _counted(steps, found))
            yield from _steps(steps)
        else:
            said = "; ".join(step.says for step in steps)
            yield _indented(Text.assemble(("broken", _COLOURS["broken"]), f" {file}: {said}"), 2)
    yield Text.assemble("  in all: ", _counted(grades, found), "\n")


def _counted(grades: Iterable[Grade], found: Grades) -> Text:
    """Return the number of grades with each verdict, in words."""
    parts = [(f"{count} {verdict}", _COLOURS[verdict]) for verdict, count in found.counts(grades).items() if count]
    return Text(", ").join(Text(text, style=colour) for text, colour in parts)


def _steps(steps: Sequence[Grade]) -> Iterator[RenderableType]:
    """Yield a paragraph for each step that is not right, with its answer. Steps without an answer share a line."""
    for step in steps:
        if step.verdict in ("wrong", "broken"):
            answer = "" if step.answer is None else f" = {step.answer}"
            yield _item(step.verdict, f"{step.step}{answer}  {step.says}")
    empty = [step.step for step in steps if step.verdict == "empty"]
    if empty:
        yield _item("empty", ", ".join(empty))


def _item(verdict: StepVerdict, says: str) -> RenderableType:
    """Return a paragraph with a hanging indent, which starts with the verdict."""
    item = Table.grid(padding=(0, 2))
    item.add_row(Text(verdict, style=_COLOURS[verdict]), Text(says))
    return _indented(item, 4)


def _indented(text: RenderableType, by: int) -> RenderableType:
    return Padding(text, (0, 0, 0, by), expand=False)


def _sums(found: Grades) -> RenderableType:
    """Return a table that counts steps per verdict, with a row for each submission."""
    table = Table(box=None, pad_edge=False)
    table.add_column("submission", overflow="fold")
    submissions = found.by_submission()
    for verdict in found.counts(()):
        table.add_column(verdict, justify="right", style=_COLOURS[verdict])
    for name, grades in submissions.items():
        table.add_row(Text(name), *(str(count) for count in found.counts(grades).values()))
    return table
