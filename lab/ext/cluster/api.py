"""Divide work that is too large for one machine, and merge its parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import Folder, PlanOptions, RunOptions, reading_from, spread, writing_to
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.app.running import Asked
    from lab.ext.cluster.campaign import Campaign, ShardRun
    from lab.ext.cluster.sharing import Added


@spread(PlanOptions)
def plan(*claims: str | Path, options: PlanOptions, seeds: Sequence[int] | None = None) -> Campaign:
    """Return the trials that `run`, or `run_seeds` with `seeds`, would run, and their cost, without running them.

    The cost is in core seconds, bytes of disk space, and bytes of memory for `jobs` parallel trials (default: one per
    core).

    Raises the errors of `run`.
    """
    from lab.ext.cluster import campaign

    return campaign.campaign(_asked(claims, options, seeds), options.folder, options.jobs)


@spread(RunOptions)
def run_shard(
    shard: str,
    *claims: str | Path,
    options: RunOptions,
    seeds: Sequence[int] | None = None,
    plan: Path | str | None = None,
) -> ShardRun:
    """Run one part, such as "3/16", of the trials that `run` (with `seeds`: `run_seeds`) would run. Judge no claim.

    All parts together are complete, and no trial is in two parts. The parts are balanced with the cost model, or with
    the file `plan`, the output of `lab cluster plan --json`. Raises the errors of `run`.
    """
    from lab.ext.cluster import campaign
    from lab.ext.cluster.shard import Shard

    part = Shard.parse(shard)
    asked = _asked(claims, options, seeds)
    costs = campaign.read_costs(Path(plan)) if plan else {}
    return campaign.run_shard(asked, part, costs, options)


def merge(*folders: str | Path, results: Folder = None) -> Added:
    """Add the records of other stores to the store `results`, and rehash every byte.

    Raises InputError if a folder is not a store, and MachineError if the disk is full.
    """
    from lab.ext.cluster import sharing

    if not folders:
        raise InputError("name the stores whose records are to be added")
    return sharing.merge([Path(folder) for folder in folders], writing_to(results))


def push(target: str | Path, results: Folder = None) -> Added:
    """Write the records of the store `results` as archives into the folder `target`, which becomes a shared store.

    Raises InputError if the store has no records, and MachineError if the disk is full.
    """
    from lab.ext.cluster import sharing

    return sharing.push(reading_from(results), Path(target))


def _asked(claims: Sequence[str | Path], options: PlanOptions, seeds: Sequence[int] | None) -> list[Asked]:
    from lab.app import seeding
    from lab.spec import find

    experiments, settings = find.find(map(str, claims)), options.settings()
    return [(experiments, settings)] if seeds is None else seeding.asked(experiments, settings, seeds)
