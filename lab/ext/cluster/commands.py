"""Define the commands for several machines: `lab cluster plan`, `merge`, `push`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.app.options import PlanOptions
from lab.cli import output
from lab.cli.options import Claims, Results, SeedNumbers, named_seeds, with_options
from lab.cli.output import Json
from lab.report.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lab.ext.cluster.campaign import Campaign, PlannedTrial
    from lab.ext.cluster.sharing import Added

app = typer.Typer(help="Plan and merge runs on several machines, and share records.", no_args_is_help=True)


@app.command()
@with_options(PlanOptions)
def plan(claims: Claims = None, *, options: PlanOptions, seeds: SeedNumbers = None, as_json: Json = False) -> None:
    """Show the trials that the store does not have, and the time, disk and memory that they need.

    The command runs no trials.
    """
    from lab.ext.cluster import api

    found = api.plan(*claims or (), seeds=named_seeds(seeds, options.seed), **options.given())
    output.answer(found.plain(), lambda: _render_plan(found), as_json)
    if found.skipped:
        raise typer.Exit(3)


@app.command()
def merge(
    stores: Annotated[list[Path], typer.Argument(help="Add the records of these stores.", metavar="DIR")],
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Add the records of other stores, and rehash every byte."""
    from lab.ext.cluster import api

    _show(api.merge(*stores, results=results), as_json)


@app.command()
def push(
    target: Annotated[
        Path, typer.Argument(help="The shared store: a folder that any web server can serve.", metavar="DIR")
    ],
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Write the records into a shared store, one archive per record."""
    from lab.ext.cluster import api

    _show(api.push(target, results), as_json)


def _render_plan(found: Campaign) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from lab.app.room import amount

    def row(claim: str, trials: Sequence[PlannedTrial]) -> tuple[str, ...]:
        seconds, disk = sum(each.cost.seconds for each in trials), sum(each.cost.disk for each in trials)
        return claim, str(len(trials)), f"{seconds:.0f}", amount(disk)

    table = Table(box=None, pad_edge=False)
    table.add_column("claim")
    for head in ("trials", "seconds", "disk"):
        table.add_column(head, justify="right")
    for claim, group in groupby(found.lacking, key=lambda each: each.trial.claim):
        table.add_row(*row(claim, list(group)))
    said = [f"{plural(len(found.lacking), 'trial')} missing, {found.stored} in the store"]
    said.append(f"about {found.seconds:.0f} s of one core")
    if known := sum(each.recorded for each in found.lacking):
        said.append(f"{known} estimated from records")
    if here := sum(each.here for each in found.lacking):
        said.append(f"{here} for this machine alone")
    needs, free = found.needs, found.free
    said.append(f"{amount(needs.disk)} of disk, {amount(free.disk)} free")
    if needs.memory is not None and free.memory is not None:
        said.append(f"{amount(needs.memory)} of memory, {amount(free.memory)} free")
    lines = [*(f"{case}: skipped: {reason}" for case, reason in found.skipped), "; ".join(said)]
    return Group(*([table] if found.lacking else []), Text("\n".join(lines), "bold"))


def _show(added: Added, as_json: bool) -> None:
    lines = [
        *added.refused,
        f"{plural(added.added, 'record')} added, {added.present} there already, in {added.store}",
    ]
    output.answer(added.plain(), lambda: "\n".join(lines), as_json)
    raise typer.Exit(added.exit_code)
