"""Show the results of commands on hosts with their own kernels and the cost of the run."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.ext.mixed.mixed import MixedRun


def render(found: MixedRun) -> RenderableType:
    """Return a row for each command and the cost of the run."""
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for title in ("host", "kernel", "command", "status"):
        table.add_column(title, overflow="fold")
    for command, status in zip(found.commands, found.outcome.statuses, strict=True):
        ended = f"ended after {found.lasts}" if status is None else str(status)
        table.add_row(command.host, found.kernels[command.host], command.line, ended)
    cost = found.outcome.cost
    guests = len(found.outcome.kernels)
    took = f"{cost.wall_seconds:.1f} s, {cost.cpu_seconds:.1f} s of CPU"
    passed = f", the turn passed {cost.turns:,} times" if cost.turns else ""
    counted = f"{guests} kernels" if guests > 1 else "1 kernel"
    return Group(table, Text(f"{counted}: {took}{passed}"), Text(f"{found.out}/"))
