"""Claims for a terminal: a block each, in 80 columns. What draws them takes long to import: only when one is drawn."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from html import unescape
from typing import TYPE_CHECKING

from lab.report.html import figure, percent
from lab.verdict import ClaimResult, Kind, Result

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["block", "blocks", "plain", "remarks"]

_COLOURS: Mapping[Kind, str] = {
    "reproduced": "green",
    "not reproduced": "yellow",
    "inconclusive": "cyan",
    "invalid": "red",
    "skipped": "magenta",
}
_COLUMNS = 80


def block(claim: ClaimResult) -> RenderableType:
    """Its verdict, why, and a line for each arm and point."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    title = Text.assemble((claim.claim, "bold"), "  ", (claim.verdict.kind, _COLOURS[claim.verdict.kind]))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for name, justify in (("arm", "left"), ("reported", "right"), ("predicted", "right"), ("measured", "right")):
        table.add_column(name, justify=justify, style="" if name == "measured" else "dim")  # type: ignore[arg-type]
    table.add_column("model error", justify="right", style="dim")
    for result in claim.results:
        table.add_row(*_row(result))
    reason = [Text(claim.verdict.reason, style="dim")] if claim.verdict.kind in ("invalid", "skipped") else []
    return Group(title, *reason, table, Text(""))


def blocks(claims: Iterable[ClaimResult]) -> RenderableType:
    """A block for each."""
    from rich.console import Group

    return Group(*map(block, claims))


def remarks(claim: ClaimResult) -> Iterable[str]:
    """What the verdict does not say: predictions that are further off than they may."""
    for result in claim.model_is_off:
        name = f"{result.arm} at {result.point}" if result.point else result.arm
        yield (
            f"{claim.claim}, {name}: the model is off, {figure(result.predicted)} predicted for "
            f"{figure(result.measured)}, and should hold {result.accuracy}"
        )


def plain(what: RenderableType) -> str:
    """As a terminal of 80 columns without colours shows it."""
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


def _row(result: Result) -> tuple[str, str, str, str, str]:
    name = f"{result.arm} {result.point}".strip()
    error = "" if result.model_error is None else unescape(percent(result.model_error))
    mark = " !" if result.model_is_off else ""
    return name, figure(result.reported), figure(result.predicted), figure(result.measured), error + mark
