"""Divide what is too much for one machine, and put its parts together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab.api.options import Folder, elsewhere, reading_from, settings_of, writing_to
from lab.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

    from lab.runner.plan import Settings
    from lab.usecases.campaign import Campaign, ShardRun
    from lab.usecases.running import Asked
    from lab.usecases.sharing import Added

__all__ = ["merge", "plan", "push", "run_shard"]


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
    """Say which trials `run`, or `run_seeds` with `seeds`, would perform, and what they cost. Runs nothing.

    That is seconds of one core, disk, and memory with so many `jobs` at once (one per core unless given).

    Raises what `run` raises.
    """
    from lab.usecases import campaign

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
    plan: Path | str | None = None,
) -> ShardRun:
    """Run one part, "3/16" say, of the trials that `run`, or `run_seeds` with `seeds`, would perform; judge nothing.

    All parts together are complete, and no trial is in two of them. They are balanced by the model of costs, or by the
    file `plan`, which `lab plan --json` printed. Raises what `run` raises.
    """
    from lab.kernel import Budget
    from lab.runner.shard import Shard
    from lab.usecases import campaign

    part = Shard.parse(shard)
    asked = _asked(claims, settings_of(kernel, on, clock, seed, repeat, fabric, userland, bundle), seeds)
    costs = campaign.read_costs(Path(plan)) if plan else {}
    limits = Budget(wall=budget, stall=stall)
    others = elsewhere(store, cluster)
    return campaign.run_shard(asked, part, costs, writing_to(results), jobs, limits, others, anyway)


def merge(*folders: str | Path, results: Folder = None) -> Added:
    """Add the records of other stores to the store `results`, with every byte hashed again.

    Raises InputError when a folder is no store, MachineError when the disk is full.
    """
    from lab.usecases import sharing

    if not folders:
        raise InputError("name the stores whose records are to be added")
    return sharing.merge([Path(folder) for folder in folders], writing_to(results))


def push(target: str | Path, results: Folder = None) -> Added:
    """Write the records of the store `results` as archives into the folder `target`: a shared store.

    Raises InputError when there is no record, MachineError when the disk is full.
    """
    from lab.usecases import sharing

    return sharing.push(reading_from(results), Path(target))


def _asked(claims: Sequence[str | Path], settings: Settings, seeds: Sequence[int] | None) -> list[Asked]:
    from lab.spec import find
    from lab.usecases import seeding

    experiments = find.find(map(str, claims))
    return [(experiments, settings)] if seeds is None else seeding.asked(experiments, settings, seeds)
