"""Show the results of `lab atlas`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.ext.atlas.atlas import Atlas
from lab.ext.comparison.summary import sentence


def render(found: Atlas, folder: Path) -> RenderableType:
    """Return an atlas as text: the known changes that it shows, the changes in each step, and the path of its pages."""
    plain = found.plain()
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
    for known in plain["changes"]:
        table.add_row(known["title"], known["shown"])
    steps = [f"{step.title}: {sentence(step.changes)}" for step in found.steps]
    return Group(table, *map(Text, steps), Text(f"Atlas: {(folder / 'index.html').resolve().as_uri()}", "bold"))
