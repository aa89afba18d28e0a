"""Show the least, the median and the most of several measurements, one row per thing measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from rich.table import Table


def table(
    caption: str, rows: Mapping[str, Sequence[float]], form: str, last: Mapping[str, float] | None = None
) -> Table:
    """Make a table for 80 columns; `form` prints one figure, `caption` says its unit.

    `last` has the medians of the last release, of the rows that it was measured for.
    """
    heads = ["", "min", "median", "max", "runs", *(["last release"] if last else [])]
    made = Table(*heads, box=None, padding=(0, 2, 0, 0), title=f"\n{caption}")
    made.title_justify = "left"
    for column in made.columns[1:]:
        column.justify = "right"
    for name, figures in rows.items():
        summary = (min(figures), median(figures), max(figures))
        before = [form.format(last[name]) if name in last else ""] if last else []
        made.add_row(name, *(form.format(figure) for figure in summary), str(len(figures)), *before)
    return made
