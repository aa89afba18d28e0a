"""Show the result of `lab bisect`."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.ext.bisect.bisection import Bisection
from lab.ext.comparison.display import block

_COLOURS = {"good": "green", "bad": "red", "skip": "magenta"}


def render(found: Bisection) -> RenderableType:
    """Return the tested commits, the first bad one, and the first packets that differ."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for tested in found.tested:
        table.add_row(tested.commit.id[:12], Text(tested.outcome, _COLOURS[tested.outcome]), tested.detail)
    one = len(found.found) == 1
    said = "the first commit that changes the claim" if one else "one of these commits changes the claim first"
    lines = [f"{commit.id[:12]} {commit.subject} ({commit.author}, {commit.date})" for commit in found.found]
    return Group(table, Text(said, "bold"), *(Text(f"  {line}") for line in lines), block(found.change))
