"""Plan a campaign: list the missing trials with their cost, and run a part of them."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from statistics import median, median_high
from typing import TYPE_CHECKING, Any

from lab.app import room
from lab.app.room import Room
from lab.app.running import Asked, perform
from lab.errors import InputError, LabError
from lab.ext.cluster.shard import Shard
from lab.guest.trial import Trial, canonical
from lab.record.record import Record, RecordError
from lab.record.store import Store
from lab.report.wording import plural
from lab.runner.cost import Cost
from lab.runner.plan import PlannedCase, plan, trials_of
from lab.runner.progress import name
from lab.runner.schedule import alike
from lab.spec.errors import unreadable
from lab.units import to_plain
from lab.verdict.judged import inputs_of

if TYPE_CHECKING:
    from lab.app.options import RunOptions

_Slot = tuple[str, str, str, int, int]  # claim, arm, point, seed, repeat: a trial, on any machine
_Costs = Mapping[_Slot, float]  # seconds of one core


@dataclass(frozen=True)
class PlannedTrial:
    """Holds a missing trial, with its estimated cost."""

    trial: Trial
    cost: Cost
    recorded: bool  # whether the cost comes from records of the same case, not from the model in `lab.runner.cost`
    here: bool  # whether it must run on this machine, as real time must

    def plain(self) -> dict[str, Any]:
        """Return the trial as plain data for JSON."""
        trial = self.trial
        return {
            "address": trial.address,
            "claim": trial.claim,
            "arm": trial.arm,
            "point": trial.point,
            "seed": trial.seed,
            "repeat": trial.repeat,
            "clock": trial.clock,
            "seconds": round(self.cost.seconds, 3),
            "disk": self.cost.disk,
            "memory": self.cost.memory,
            "estimate": "records" if self.recorded else "model",
            "here": self.here,
        }


@dataclass(frozen=True)
class Campaign:
    """Holds a store's missing trials, the number of stored trials, and the cases that cannot run here, with reasons.

    `needs` is the estimated disk space and memory that the trials need, and `free` is the free disk space and memory.
    """

    lacking: tuple[PlannedTrial, ...]
    stored: int
    skipped: tuple[tuple[str, str], ...]
    needs: Room
    free: Room

    @property
    def seconds(self) -> float:
        """The estimated time of all missing trials, in core seconds."""
        return sum(cost.seconds for cost in _performed(self.lacking))

    def plain(self) -> dict[str, Any]:
        """Return the campaign as plain data for JSON."""
        return {
            "trials": [each.plain() for each in self.lacking],
            "stored": self.stored,
            "seconds": round(self.seconds, 3),
            "needs": self.needs.plain(),
            "free": self.free.plain(),
            "skipped": [{"case": case, "reason": reason} for case, reason in self.skipped],
        }


@dataclass(frozen=True)
class ShardRun:
    """Describes the results of one shard's trials."""

    shard: Shard
    records: int
    failed: tuple[tuple[str, LabError], ...]
    skipped: tuple[tuple[str, str], ...]
    stay: int  # the claims' trials that are in no shard

    @property
    def exit_code(self) -> int:
        """The exit code: 3 if this machine could not run a trial, 1 if a trial failed, else 0."""
        if self.skipped or any(error.exit_code == 3 for _, error in self.failed):
            return 3
        return int(bool(self.failed))

    def text(self) -> str:
        """Return the results of the shard as text, with a line for each trial that did not run."""
        lines = [f"{trial}: failed: {error}" for trial, error in self.failed]
        lines += [f"{case}: skipped: {reason}" for case, reason in self.skipped]
        lines.append(f"shard {self.shard}: {plural(self.records, 'record')}, {len(self.failed)} failed")
        if self.stay:
            stay = f"{plural(self.stay, 'trial')} in no shard, because they need real time or a different place"
            lines.append(f"{stay}; run `lab run` after merging")
        return "\n".join(lines)

    def plain(self) -> dict[str, Any]:
        """Return the results as plain data for JSON."""
        return {
            "shard": str(self.shard),
            "records": self.records,
            "failed": [{"trial": trial, "reason": str(error)} for trial, error in self.failed],
            "skipped": [{"case": case, "reason": reason} for case, reason in self.skipped],
            "in_no_shard": self.stay,
        }


def campaign(asked: Sequence[Asked], results: Path, jobs: int | None = None) -> Campaign:
    """Return the missing trials of the store at `results` and the needs of `jobs` parallel trials.

    Raises SpecError and MachineError.
    """
    store = Store(results)
    planned = _planned(asked)
    recorded = _recorded(store)
    lacking = []
    stored = 0
    for each in planned:
        keys = _keys(each.trials[0]) if each.trials else ()
        known = next((recorded[key] for key in keys if key in recorded), None)
        cost = replace(each.cost, seconds=known[0], disk=known[1]) if known else each.cost
        missing = [trial for trial in each.trials if store.get(trial.address) is None]
        stored += len(each.trials) - len(missing)
        lacking += [PlannedTrial(trial, cost, known is not None, not each.travels) for trial in missing]
    needs = room.needed(_performed(lacking), jobs)
    return Campaign(tuple(lacking), stored, _skipped(planned), needs, room.free(results))


def run_shard(asked: Sequence[Asked], shard: Shard, costs: _Costs, options: RunOptions) -> ShardRun:
    """Run the trials of a shard that the store lacks. No claim is judged, because other shards have the other trials.

    Only the claims, the cost model and `costs` decide the contents of a shard. This machine and its store have no
    influence. Shards never contain real-time trials. Raises SpecError, MachineError, Interrupted, and NoRoom (see
    `options.anyway`).
    """
    plans = [plan(experiments, settings) for experiments, settings in asked]
    planned = [each for one in plans for each in one]
    own = _own(planned, shard, costs)
    trials = [trial for trial in trials_of(planned) if _slot(trial) in own]
    store = Store(options.folder)
    with store.held():
        outcomes = perform(asked, plans, trials, store, options)
    failed = [(trial, outcomes[trial.address]) for trial in trials]
    return ShardRun(
        shard,
        sum(isinstance(outcome, Record) for outcome in outcomes.values()),
        tuple((name(trial), error) for trial, error in failed if isinstance(error, LabError)),
        _skipped([each for each in planned if own.intersection(_slots(each))]),
        sum(len(each.samples) for each in planned if not each.travels),
    )


def read_costs(file: Path) -> _Costs:
    """Return the estimates in a plan, the output of `lab cluster plan --json`. Raises InputError."""
    try:
        plain = json.loads(file.read_bytes())
        costs = {
            (each["claim"], each["arm"], each["point"], each["seed"], each["repeat"]): float(each["seconds"])
            for each in plain["trials"]
        }
        if not all(isfinite(seconds) for seconds in costs.values()):
            raise ValueError
    except OSError as error:
        raise InputError(f"{file}: {unreadable(file, error)}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{file} is not a plan; write one with `lab cluster plan --json`") from None
    return costs


def _own(planned: Sequence[PlannedCase], shard: Shard, costs: _Costs) -> set[_Slot]:
    """Return the trials of the shard, whether this machine can run them or not.

    Trials that share a run are in the same shard.
    """
    runs: dict[Hashable, list[_Slot]] = {}
    seconds: dict[_Slot, float] = {}
    for each in planned:
        if each.travels:
            does = inputs_of(each.case)
            for slot in _slots(each):
                runs.setdefault((does, each.case.kernel, slot[-2:]), []).append(slot)
                seconds[slot] = costs.get(slot, each.cost.seconds)
    together = {slots[0]: slots for slots in map(sorted, runs.values())}
    mine = shard.part({first: seconds[first] for first in together})
    return {slot for first in mine for slot in together[first]}


def _performed(lacking: Sequence[PlannedTrial]) -> list[Cost]:
    """Return the costs of the runs. A run that several trials share is counted only once."""
    costs = {each.trial.address: each.cost for each in lacking}
    return [costs[first.address] for first, *_ in alike(each.trial for each in lacking)]


def _planned(asked: Sequence[Asked]) -> list[PlannedCase]:
    return [each for experiments, settings in asked for each in plan(experiments, settings)]


def _skipped(planned: Sequence[PlannedCase]) -> tuple[tuple[str, str], ...]:
    return tuple((name(each.case), each.skipped) for each in planned if each.skipped)


def _slots(each: PlannedCase) -> Iterator[_Slot]:
    for seed, repeat in each.samples:
        yield each.case.claim, each.case.arm, each.case.point, seed, repeat


def _slot(trial: Trial) -> _Slot:
    return trial.claim, trial.arm, trial.point, trial.seed, trial.repeat


def _recorded(store: Store) -> dict[Hashable, tuple[float, int]]:
    """Return the median seconds and bytes of recorded trials, by each of their `_keys`."""
    found: dict[Hashable, list[tuple[float, int]]] = {}
    for record in store:
        try:
            taken = float(record.host["cpu_seconds"]), sum(output.bytes for output in record.outputs.values())
            for key in _keys(record.trial):
                found.setdefault(key, []).append(taken)
        except (RecordError, KeyError, TypeError, ValueError):
            continue  # it is damaged, or its place does not record this
    return {key: (median(cpu for cpu, _ in each), median_high(size for _, size in each)) for key, each in found.items()}


def _keys(trial: Trial) -> tuple[Hashable, ...]:
    """Return the keys under which a trial's cost may be known, the best first: its work on its network, its case."""
    does = canonical([trial.network, trial.workload, to_plain(trial.probes), trial.on, trial.clock])
    return does, (trial.claim, trial.key, trial.on, trial.clock)
