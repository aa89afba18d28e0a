"""Divide work that is too large for one machine, and put its parts together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab.app.options import Folder, elsewhere, reading_from, settings_of, writing_to
from lab.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

    from lab.app.running import Asked
    from lab.ext.cluster.campaign import Campaign, ShardRun
    from lab.ext.cluster.sharing import Added
    from lab.runner.plan import Settings


def plan(
    *claims: str | Path,
    on: str = "uml",
    kernel: str | None = None,
    clock: str | None = None,
    fabric: str = "netlink",
    userland: str = "sealed",
    seed: int = 1,
    seeds: Sequence[int] | None = None,
    repeat: int = 1,
    jobs: int | None = None,
    results: Folder = None,
    bundle: Folder = None,
) -> Campaign:
    """Return the trials that `run`, or `run_seeds` with `seeds`, would run, and their cost. Nothing runs.

    The cost is in seconds of one core, bytes of disk, and bytes of memory with `jobs` trials at once (default: one per
    core).

    Raises the errors of `run`.
    """
    from lab.ext.cluster import campaign

    asked = _asked(claims, settings_of(kernel, on, clock, seed, repeat, fabric, userland, bundle), seeds)
    return campaign.campaign(asked, writing_to(results), jobs)


def run_shard(
    shard: str,
    *claims: str | Path,
    on: str = "uml",
    kernel: str | None = None,
    clock: str | None = None,
    fabric: str = "netlink",
    userland: str = "sealed",
    seed: int = 1,
    seeds: Sequence[int] | None = None,
    repeat: int = 1,
    jobs: int | None = None,
    budget: float = 900.0,
    stall: float = 60.0,
    results: Folder = None,
    bundle: Folder = None,
    store: str | None = None,
    cluster: str | Client | None = None,
    anyway: bool = False,
    trust: bool = False,
    plan: Path | str | None = None,
) -> ShardRun:
    """Run one part, such as "3/16", of the trials that `run`, or `run_seeds` with `seeds`, would run. Nothing is
    judged.

    All parts together are complete, and no trial is in two of them. They are balanced with the model of costs, or with
    the file `plan`, which `lab cluster plan --json` printed. Raises the errors of `run`.
    """
    from lab.ext.cluster import campaign
    from lab.ext.cluster.shard import Shard
    from lab.machine.kernel import Budget

    part = Shard.parse(shard)
    asked = _asked(claims, settings_of(kernel, on, clock, seed, repeat, fabric, userland, bundle, trust), seeds)
    costs = campaign.read_costs(Path(plan)) if plan else {}
    limits = Budget(wall=budget, stall=stall)
    others = elsewhere(store, cluster)
    return campaign.run_shard(asked, part, costs, writing_to(results), jobs, limits, others, anyway)


def merge(*folders: str | Path, results: Folder = None) -> Added:
    """Add the records of other stores to the store `results`, with every byte hashed again.

    Raises InputError if a folder is not a store, and MachineError if the disk is full.
    """
    from lab.ext.cluster import sharing

    if not folders:
        raise InputError("name the stores whose records are to be added")
    return sharing.merge([Path(folder) for folder in folders], writing_to(results))


def push(target: str | Path, results: Folder = None) -> Added:
    """Write the records of the store `results` as archives into the folder `target`, which becomes a shared store.

    Raises InputError if there is no record, and MachineError if the disk is full.
    """
    from lab.ext.cluster import sharing

    return sharing.push(reading_from(results), Path(target))


def _asked(claims: Sequence[str | Path], settings: Settings, seeds: Sequence[int] | None) -> list[Asked]:
    from lab.app import seeding
    from lab.spec import find

    experiments = find.find(map(str, claims))
    return [(experiments, settings)] if seeds is None else seeding.asked(experiments, settings, seeds)
