"""Run one trial, and show the probes' output while the trial runs.

A guest writes directly into its trial's folder, so watching does not affect the trial. The record is identical to the
record of `lab run`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.app.running import Interrupted
from lab.errors import InputError, MachineError
from lab.ext.watch.live import Followed, FollowedPackets, FollowedSamples, Moment
from lab.guest import outputs
from lab.guest.probe import Capture, ExpertInfo, TcpInfo
from lab.machine.kernel import Budget, Guest
from lab.record.record import Record, RecordError
from lab.record.store import Store
from lab.runner.guest import run as run_in_guest
from lab.runner.plan import PlannedCase, Settings, plan
from lab.spec.case import Case
from lab.spec.errors import instead
from lab.spec.loaded import LoadedExperiment
from lab.verdict.judged import predict_case
from lab.verdict.predictions import Predictions

LOOK_SECONDS = 0.25  # between two reads of the written data
STEP_NS = 100_000_000  # of the trial's time, between two glimpses


@dataclass(frozen=True)
class Glimpse:
    """Holds the bulk flow's state at `seconds` of the trial's own time and its goodput since the last glimpse.

    `window` is the congestion window in bytes if tcp_info is sampled, else the bytes in flight. `queue` is the excess
    of the round-trip time over the shortest round-trip time. `window` and `queue` are None without a probe at the
    sender.
    """

    seconds: float
    window: int | None
    is_cwnd: bool
    queue: float | None
    goodput: float


@dataclass(frozen=True)
class Watched:
    """Names the watched trial, and tells whether its record is new in the store."""

    arm: str
    trial: str  # its address
    is_new: bool
    refused: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the watched trial as plain data for JSON."""
        return {"arm": self.arm, "trial": self.trial, "new": self.is_new, "refused": list(self.refused)}


def watch(
    loaded: LoadedExperiment, arm: str | None, settings: Settings, results: Path, seen: Callable[[Glimpse], None]
) -> Watched:
    """Run the first trial of an arm (None: the first arm), pass each glimpse to `seen`, and store the record.

    If the store already has the record, the stored record stays, and the new record is compared with it. Raises
    InputError for an unknown arm, or for an arm without a probe that writes during the trial; MachineError if the trial
    cannot run here; Interrupted; and the errors of running a trial.
    """
    planned = _chosen(loaded, arm, settings)
    name, followed = _followed(planned.case)
    arm, address, store = planned.case.arm, planned.trials[0].address, Store(results)
    if store.get(address) is None:
        kernel = settings.kernel.describe()
        predict_case(planned.case, kernel, Predictions(store.predictions, loaded.source_sha256, kernel["id"]))
        _performed(planned, store, name, followed, seen)  # its stage holds the store
        return Watched(arm, address, is_new=True)
    with store.held(), store.beside() as again:
        _performed(planned, again, name, followed, seen)
        return Watched(arm, address, is_new=False, refused=tuple(_differences(address, again, store)))


def _differences(address: str, again: Store, store: Store) -> Iterator[str]:
    """Yield the faults of a trial's new record, compared with the record in the store: damage, or different bytes."""
    fresh, present = again.get(address), store.get(address)
    if fresh is None or present is None:
        return
    try:
        fresh.verify()
        if present.outputs != fresh.outputs:
            yield f"{fresh.folder} is refused: {present.folder} has other bytes of the same trial"
    except RecordError as error:
        yield f"{fresh.folder} is refused: {str(error).removeprefix(f'{fresh.folder} ')}"


def _chosen(loaded: LoadedExperiment, arm: str | None, settings: Settings) -> PlannedCase:
    planned = plan([loaded], settings)
    names = list(dict.fromkeys(each.case.arm for each in planned))
    if arm is not None and arm not in names:
        raise InputError(f"{loaded.id} has no arm '{arm}'{instead(arm, names)}")
    chosen = next(each for each in planned if arm in (None, each.case.arm))
    if chosen.skipped:
        raise MachineError(f"{loaded.id}, arm {chosen.case.arm}, cannot run here: {chosen.skipped}")
    return chosen


def _followed(case: Case) -> tuple[str, Followed]:
    """Return the name of the file that the trial writes while it runs, and its reader. Raises InputError without a
    file.
    """
    sender = case.path[0]
    if any(isinstance(probe, TcpInfo) and probe.node == sender for probe in case.probes):
        return outputs.tcp_info(sender), FollowedSamples()
    captures = [probe for probe in case.probes if isinstance(probe, Capture | ExpertInfo)]
    for probe in sorted(captures, key=lambda each: each.node != sender):
        return outputs.capture(probe.node, probe.interface), FollowedPackets(at_sender=probe.node == sender)
    raise InputError(f"{case.claim}, arm {case.arm}, has no probe that writes during the trial; add TcpInfo or Capture")


def _performed(
    planned: PlannedCase, store: Store, name: str, followed: Followed, seen: Callable[[Glimpse], None]
) -> None:
    """Run the trial in the background, and read the file that it writes until it ends. Ctrl-C ends the guest."""
    guests: list[Guest] = []
    steps = _Steps(isinstance(followed, FollowedSamples))
    core = min(os.sched_getaffinity(0))
    with ThreadPoolExecutor(1) as beside:
        trial = planned.trials[0]
        running = beside.submit(run_in_guest, trial, store, planned.kernel, core, Budget(), guests.append, {})
        try:
            while not wait([running], LOOK_SECONDS).done:
                for guest in guests:
                    _tell(steps.of(followed.new(guest.folder / "out" / name)), seen)
            record: Record = running.result()
        except KeyboardInterrupt:
            raise Interrupted("interrupted: the trial left no record") from None
        finally:
            for guest in guests:
                guest.end()
    _tell(steps.of(followed.new(record.path(name)), over=True), seen)


def _tell(glimpses: Iterable[Glimpse], seen: Callable[[Glimpse], None]) -> None:
    for glimpse in glimpses:
        seen(glimpse)


class _Steps:
    """Computes glimpses from moments, one for each step of the trial's time."""

    def __init__(self, is_cwnd: bool) -> None:
        self._is_cwnd = is_cwnd
        self._start: Moment | None = None
        self._last: Moment | None = None  # of the last glimpse
        self._trip: int | None = None
        self._least: int | None = None

    def of(self, moments: Sequence[Moment], over: bool = False) -> Iterator[Glimpse]:
        """Yield the glimpses that these moments complete. With `over`, also yield a glimpse for the remaining time."""
        for number, moment in enumerate(moments, 1):
            if moment.trip_ns is not None:
                self._trip = moment.trip_ns
                self._least = min(self._least or self._trip, self._trip)
            self._start = self._start or moment
            self._last = self._last or moment
            passed = moment.time_ns - self._last.time_ns
            if passed >= STEP_NS or (over and number == len(moments) and passed):
                goodput = max(0.0, 8e9 * (moment.acked - self._last.acked) / passed)
                queue = None if self._trip is None or self._least is None else (self._trip - self._least) / 1e9
                seconds = (moment.time_ns - self._start.time_ns) / 1e9
                yield Glimpse(seconds, moment.window, self._is_cwnd, queue, goodput)
                self._last = moment
