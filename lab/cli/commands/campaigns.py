"""Plan what is too much for one machine, and put its parts together: `lab plan`, `lab merge`, `lab push`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.cli import output
from lab.cli.options import (
    STORE,
    Claims,
    Clock,
    FabricName,
    Jobs,
    KernelName,
    On,
    Programs,
    Repeat,
    Results,
    Seed,
    Seeds,
    named_seeds,
)
from lab.cli.output import Json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lab.usecases.campaign import Campaign, PlannedTrial, ShardRun
    from lab.usecases.sharing import Added

__all__ = ["campaigns", "render_shard"]

campaigns = typer.Typer()


@campaigns.command()
def plan(
    claims: Claims = None,
    on: On = "uml",
    kernel: KernelName = None,
    clock: Clock = None,
    fabric: FabricName = "netlink",
    userland: Programs = "sealed",
    seed: Seed = 1,
    seeds: Seeds = None,
    repeat: Repeat = 1,
    jobs: Jobs = None,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Show which trials the store lacks, and what they take: time, disk and memory. Nothing runs."""
    from lab import api

    wanted = named_seeds(seeds, seed)
    found = api.plan(
        *claims or (),
        on=on,
        kernel=kernel,
        clock=clock,
        fabric=fabric,
        userland=userland,
        seed=seed,
        seeds=wanted,
        repeat=repeat,
        jobs=jobs,
        results=results,
    )
    output.answer(found.plain(), lambda: _render_plan(found), as_json)
    if found.skipped:
        raise typer.Exit(3)


@campaigns.command()
def merge(
    stores: Annotated[list[Path], typer.Argument(help="Stores whose records are added.", metavar="DIR")],
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Add the records of other stores to the store, with every byte hashed again."""
    from lab import api

    _show(api.merge(*stores, results=results), as_json)


@campaigns.command()
def push(
    target: Annotated[Path, typer.Argument(help="The shared store: a folder, to be served as it is.", metavar="DIR")],
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Write the store's records into a shared store, an archive for each."""
    from lab import api

    _show(api.push(target, results), as_json)


def render_shard(part: ShardRun) -> str:
    """Say what became of a shard."""
    lines = [f"{trial}: failed: {error}" for trial, error in part.failed]
    lines += [f"{case}: skipped: {reason}" for case, reason in part.skipped]
    lines.append(f"shard {part.shard}: {_counted(part.records, 'record')}, {len(part.failed)} failed")
    if part.stay:
        lines.append(
            f"{_counted(part.stay, 'trial')} in no shard, of real time or another place: `lab run` after merging"
        )
    return "\n".join(lines)


def _render_plan(found: Campaign) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from lab.usecases.room import amount

    def row(claim: str, trials: Sequence[PlannedTrial]) -> tuple[str, ...]:
        seconds, disk = sum(each.cost.seconds for each in trials), sum(each.cost.disk for each in trials)
        return claim, str(len(trials)), f"{seconds:.0f}", amount(disk)

    table = Table(box=None, pad_edge=False)
    table.add_column("claim")
    for head in ("trials", "seconds", "disk"):
        table.add_column(head, justify="right")
    for claim, group in groupby(found.lacking, key=lambda each: each.trial.claim):
        table.add_row(*row(claim, list(group)))
    said = [f"{_counted(len(found.lacking), 'trial')} lacking, {found.stored} in the store"]
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
        f"{_counted(added.added, 'record')} added, {added.present} there already, in {added.store}",
    ]
    output.answer(added.plain(), lambda: "\n".join(lines), as_json)
    raise typer.Exit(added.exit_code)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
