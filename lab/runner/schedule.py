"""Run trials on all cores, one guest per core, and skip trials that the store already has."""

from __future__ import annotations

import os
import queue
import random
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Protocol

from lab.base.building import holding
from lab.errors import InputError, LabError
from lab.guest.clock import cpu_takes_time
from lab.guest.trial import Trial
from lab.machine.kernel import Budget, Guest, Kernel, UmlKernel
from lab.record.record import Record
from lab.record.store import Store
from lab.runner.guest import run as run_in_guest

POLL_SECONDS = 0.2  # the longest delay of a Ctrl-C


class Progress(Protocol):
    """Receives a report from the runner when each trial starts and when it ends."""

    def started(self, trial: Trial) -> None:
        """Note that `trial` has started on a core."""

    def ended(self, trial: Trial, outcome: Record | LabError, stored: bool) -> None:
        """Note that `trial` has ended. `stored` means that its record was already in the store."""


class Crew(Protocol):
    """Runs trials and puts their records into the runner's store."""

    def perform(
        self, trials: Sequence[Trial], started: Callable[[Trial], None]
    ) -> Iterator[tuple[Trial, Record | LabError]]:
        """Yield each trial with its record or its error when it ends. Call `started` with each trial that starts."""


def at_once(jobs: int | None) -> None:
    """Check the number of trials that run in parallel. Raises InputError if the number is less than one."""
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs {jobs} is too small; use 1 or more")


@dataclass(frozen=True)
class Runner:
    """Runs each trial on the kernel in `kernels` that it names, and puts the records into `store`.

    `jobs` virtual-time trials run in parallel, or `crew` runs the trials that may run elsewhere. Real-time trials run
    here, one at a time, after the virtual-time trials. Their repeats are interleaved in shuffled blocks, so that drift
    affects all arms equally. These trials form a batch. Each record stores the batch's name and the order in host.json.
    With `together`, all real-time trials run again and replace their records, unless all records belong to one batch,
    because the load on the machine varies over time. Of trials that produce the same bytes, only one runs, and the
    others share its outputs.

    `before` is called with each trial that runs here, before the trial starts. `meanwhile` is called while a
    virtual-time guest runs; nothing may run alongside a real-time guest. Neither function should raise an error. Raises
    InputError if `jobs` is less than one.
    """

    store: Store
    kernels: Collection[Kernel]
    jobs: int | None = None  # None: one for each core that this process may use
    budget: Budget = field(default_factory=Budget)
    together: bool = False
    before: Callable[[Trial], None] | None = None
    crew: Crew | None = None  # runs trials that may run elsewhere; None: this machine's cores
    meanwhile: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        at_once(self.jobs)

    def run(self, trials: Sequence[Trial], progress: Progress) -> dict[str, Record | LabError]:
        """Return the record of each trial, by address, or the error of a trial without a record.

        On KeyboardInterrupt, every guest is ended, and finished trials stay in the store.
        """
        outcomes: dict[str, Record | LabError] = {}
        todo: dict[str, Trial] = {}
        again = self._scattered(trials) if self.together else set()
        for trial in trials:
            stored = None if trial.address in again else self.store.get(trial.address)
            if stored is not None:
                outcomes[trial.address] = stored
                progress.ended(trial, stored, True)
            else:
                todo[trial.address] = trial
        runs = {each[0].address: each for each in alike(todo.values())}
        with holding(each.path.parent for each in self.kernels if isinstance(each, UmlKernel)):
            for crew, part in self._divided([each[0] for each in runs.values()], again):
                for performed, outcome in crew.perform(part, progress.started):
                    for trial in runs[performed.address]:
                        outcomes[trial.address] = found = self._shared(outcome, trial)
                        progress.ended(trial, found, False)
        return outcomes

    def _shared(self, outcome: Record | LabError, trial: Trial) -> Record | LabError:
        """Return the outcome of a run as the outcome of `trial`, which may have other names than the trial that ran."""
        if isinstance(outcome, LabError) or outcome.address == trial.address:
            return outcome
        try:
            return self.store.share(outcome, trial)
        except LabError as error:
            return error

    def _divided(self, trials: Sequence[Trial], again: Collection[str]) -> Iterator[tuple[Crew, Sequence[Trial]]]:
        """Yield each crew with its trials, in running order. Trials at the addresses in `again` have old records."""
        away: list[Trial] = []
        here: list[Trial] = []
        real: list[Trial] = []
        for trial in trials:
            (real if trial.clock != "virtual" else away if self.crew and travels(trial) else here).append(trial)
        if self.crew and away:
            yield self.crew, away
        if here:
            yield self._cores(self.jobs), here
        if real:
            batch = secrets.token_hex(8)
            order = _interleaved(real, batch)
            places = {trial.address: {"batch": batch, "order": number} for number, trial in enumerate(order)}
            yield self._cores(1, places, again), order

    def _cores(
        self, jobs: int | None, places: Mapping[str, Mapping[str, Any]] | None = None, again: Collection[str] = ()
    ) -> Crew:
        return Cores(self.store, self.kernels, jobs, self.budget, self.before, places or {}, again, self.meanwhile)

    def _scattered(self, trials: Sequence[Trial]) -> set[str]:
        """Return the addresses of all real-time trials, or no addresses if all records belong to one batch."""
        real = {trial.address for trial in trials if trial.clock != "virtual"}
        stored = [self.store.get(address) for address in real]
        batches = {record.batch if record else "" for record in stored}
        return real if len(batches) > 1 or "" in batches else set()


@dataclass(frozen=True)
class Cores:
    """Runs trials on this machine's cores, one guest on each.

    `places` holds each trial's position in the running order. `again` holds the addresses of records to be replaced.
    """

    store: Store
    kernels: Collection[Kernel]
    jobs: int | None
    budget: Budget
    before: Callable[[Trial], None] | None
    places: Mapping[str, Mapping[str, Any]]
    again: Collection[str]
    meanwhile: Callable[[], None] | None

    def perform(
        self, trials: Sequence[Trial], started: Callable[[Trial], None]
    ) -> Iterator[tuple[Trial, Record | LabError]]:
        """Run each trial on a free core. If the iteration ends early, all guests end."""
        cores = sorted(os.sched_getaffinity(0))
        free: queue.SimpleQueue[int] = queue.SimpleQueue()
        jobs = max(1, min(self.jobs or len(cores), len(trials)))
        kernels = {kernel.id: kernel for kernel in self.kernels}
        for number in range(jobs):
            free.put(cores[number % len(cores)])
        guests = _Guests()

        def work(trial: Trial) -> Record | LabError:
            cpu, kernel, place = free.get(), kernels[trial.kernel["id"]], self.places.get(trial.address, {})

            def begun(guest: Guest) -> None:
                guests.add(guest)
                if self.meanwhile and trial.clock == "virtual":
                    self.meanwhile()

            try:
                started(trial)
                if self.before:
                    self.before(trial)
                if trial.address in self.again:  # any other record comes from a run that has just ended
                    self.store.remove(trial.address)
                return run_in_guest(trial, self.store, kernel, cpu, self.budget, begun, place)
            except LabError as error:
                return error
            finally:
                free.put(cpu)

        with ThreadPoolExecutor(jobs) as pool:
            futures: dict[Future[Record | LabError], Trial] = {pool.submit(work, trial): trial for trial in trials}
            try:
                while futures:
                    for future in wait(futures, POLL_SECONDS, FIRST_COMPLETED).done:
                        yield futures.pop(future), future.result()
            except BaseException:
                for future in futures:
                    future.cancel()
                guests.end()
                raise


def travels(trial: Trial) -> bool:
    """Return whether another machine may run the trial, because its bytes are the same there."""
    return not cpu_takes_time(trial.on, trial.clock)


def alike(trials: Iterable[Trial]) -> tuple[tuple[Trial, ...], ...]:
    """Return groups of trials that produce the same bytes, in the order of their first trials.

    Each real-time trial forms its own group.
    """
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.run_address if travels(trial) else trial.address, []).append(trial)
    return tuple(map(tuple, groups.values()))


def _interleaved(trials: Sequence[Trial], batch: str) -> list[Trial]:
    """Return the trials in blocks, one per repeat, each shuffled. The batch's name decides the order."""
    chance = random.Random(batch)
    blocks: dict[int, list[Trial]] = {}
    for trial in trials:
        blocks.setdefault(trial.repeat, []).append(trial)
    for block in blocks.values():
        chance.shuffle(block)
    return [trial for _, block in sorted(blocks.items()) for trial in block]


class _Guests:
    """Holds the running guests, so that another thread can end all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[Guest] = []
        self._over = False

    def add(self, guest: Guest) -> None:
        with self._lock:
            self._running.append(guest)
            if self._over:
                guest.end()

    def end(self) -> None:
        with self._lock:
            self._over = True
            for guest in self._running:
                guest.end()
