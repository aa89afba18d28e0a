"""Print claims in a terminal: one block per claim, in 80 columns.

What draws them takes long to import, so it is imported only when one is drawn.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from html import unescape
from typing import TYPE_CHECKING

from lab.report.html import counted, figure, interval, percent
from lab.verdict import ClaimResult, Kind, Result

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["block", "blocks", "measured", "plain", "remarks"]

_COLOURS: Mapping[Kind, str] = {
    "reproduced": "green",
    "not reproduced": "yellow",
    "inconclusive": "cyan",
    "invalid": "red",
    "skipped": "magenta",
}
_COLUMNS = 80


def block(claim: ClaimResult) -> RenderableType:
    """Return a claim's verdict, why, and one line per arm and point."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    title = Text.assemble((claim.claim, "bold"), "  ", (claim.verdict.kind, _COLOURS[claim.verdict.kind]))
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name, justify in (("arm", "left"), ("reported", "right"), ("predicted", "right"), ("measured", "right")):
        style = "" if name == "measured" else "dim"
        table.add_column(name, justify=justify, style=style, no_wrap=name != "arm")  # type: ignore[arg-type]
    for name in ("n/N", "model error"):
        table.add_column(name, justify="right", style="dim", no_wrap=True)
    for result in claim.results:
        table.add_row(*_row(result))
    reason = [Text(claim.verdict.reason, style="dim")] if claim.verdict.kind in ("invalid", "skipped") else []
    return Group(title, *reason, table, Text(""))


def blocks(claims: Iterable[ClaimResult]) -> RenderableType:
    """Return one block per claim."""
    from rich.console import Group

    return Group(*map(block, claims))


def remarks(claim: ClaimResult) -> Iterable[str]:
    """Yield what the verdict does not say: predictions that are further off than they may be."""
    for result in claim.model_is_off:
        name = f"{result.arm} at {result.point}" if result.point else result.arm
        yield (
            f"{claim.claim}, {name}: the model is off, {figure(result.predicted)} predicted, "
            f"{figure(result.measured)} measured; declared accuracy: {result.accuracy}"
        )


def plain(what: RenderableType) -> str:
    """Return the text as a terminal of 80 columns without colours shows it."""
    from rich.console import Console

    console = Console(
        file=io.StringIO(),
        width=_COLUMNS,
        highlight=False,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
    )
    with console.capture() as captured:
        console.print(what)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")


def measured(result: Result) -> str:
    """Return what was measured and, on lines of their own, its interval and the interval's coverage."""
    return "\n".join(filter(None, [figure(result.measured), interval(result.measured).replace(" (", "\n(")]))


def _row(result: Result) -> tuple[str, ...]:
    name = f"{result.arm} {result.point}".strip()
    error = "" if result.model_error is None else unescape(percent(result.model_error))
    mark = " !" if result.model_is_off else ""
    figures = figure(result.reported), figure(result.predicted), measured(result)
    return name, *figures, counted(result), error + mark
