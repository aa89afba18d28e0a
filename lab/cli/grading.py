"""Show grades in the terminal: for each submission its steps, and a line that sums them up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

if TYPE_CHECKING:
    from lab.course.grading import Grade, Grades

__all__ = ["render"]

_COLOURS = {"right": "green", "wrong": "red", "empty": "dim", "broken": "magenta"}


def render(found: Grades) -> RenderableType:
    """Return the submissions, one below the other."""
    return Group(*_lines(found))


def _lines(found: Grades) -> Iterator[RenderableType]:
    for submission, grades in found.by_submission().items():
        yield Text(submission, style="bold")
        for (file, exercise), steps in groupby(grades, key=lambda each: (each.file, each.exercise)):
            if exercise:
                yield Padding(Text(exercise), (0, 0, 0, 2))
                for each in steps:
                    yield _step(each)
            else:
                said = "; ".join(each.says for each in steps)
                yield Padding(Text.assemble(("broken", _COLOURS["broken"]), f" {file}: {said}"), (0, 0, 0, 2))
        counted = [f"{count} {verdict}" for verdict, count in found.counts(grades).items() if count]
        yield Padding(Text(", ".join(counted)), (0, 0, 1, 2))


def _step(each: Grade) -> RenderableType:
    said = "" if each.verdict == "right" else f"  {each.says}"
    text = Text.assemble((f"{each.verdict:<7}", _COLOURS[each.verdict]), f"{each.step}{said}")
    return Padding(text, (0, 0, 0, 4))
