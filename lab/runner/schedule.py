"""Run trials on all cores, one guest per core, and run nothing that the store already has."""

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

from lab.errors import LabError
from lab.kernel import Budget, Guest, Kernel
from lab.record.record import Record
from lab.record.store import Store
from lab.record.trial import Trial
from lab.runner.guest import run as run_in_guest
from lab.spec.clock import cpu_takes_time

POLL_SECONDS = 0.2  # how long a Ctrl-C may wait


class Progress(Protocol):
    """The runner tells this of each trial as it starts and ends."""

    def started(self, trial: Trial) -> None:
        """Note that `trial` has a core now."""

    def ended(self, trial: Trial, outcome: Record | LabError, stored: bool) -> None:
        """Note that `trial` has its outcome; `stored` when the store had it already."""


class Crew(Protocol):
    """Somebody who performs trials and puts their records into the runner's store."""

    def perform(
        self, trials: Sequence[Trial], started: Callable[[Trial], None]
    ) -> Iterator[tuple[Trial, Record | LabError]]:
        """Yield each trial with its record, or its error, as it ends; call `started` with each that begins."""


@dataclass(frozen=True)
class Runner:
    """Run trials into `store`, each on the one of `kernels` that it names.

    Virtual-time trials run `jobs` at a time, or by `crew` where they may. Real-time trials run here, one at a time,
    after the virtual ones. Their repeats are interleaved in shuffled blocks, so that drift affects all arms equally: a
    batch, whose name and order each record keeps in its host.json. `together`: unless all real-time trials have their
    records from one batch, all run again, and replace those, because records of different times differ by what the
    machine did then. Trials that leave the same bytes are performed once, and share what it left. `before` is called
    with each trial that is performed here, before it starts, and should not raise; nor should `meanwhile`, which is
    called while a guest in virtual time runs: beside one in real time nothing may.
    """

    store: Store
    kernels: Collection[Kernel]
    jobs: int | None = None  # None: one for each core that we may use
    budget: Budget = field(default_factory=Budget)
    together: bool = False
    before: Callable[[Trial], None] | None = None
    crew: Crew | None = None  # performs trials that may travel; None: our own cores do
    meanwhile: Callable[[], None] | None = None

    def run(self, trials: Sequence[Trial], progress: Progress) -> dict[str, Record | LabError]:
        """Return address -> record, or the error of a trial that has none.

        On KeyboardInterrupt every guest is ended, and finished trials stay in the store.
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
        for crew, part in self._divided([each[0] for each in runs.values()], again):
            for performed, outcome in crew.perform(part, progress.started):
                for trial in runs[performed.address]:
                    outcomes[trial.address] = found = self._shared(outcome, trial)
                    progress.ended(trial, found, False)
        return outcomes

    def _shared(self, outcome: Record | LabError, trial: Trial) -> Record | LabError:
        """Return the outcome of a run as that of `trial`, which may have another name than what was performed."""
        if isinstance(outcome, LabError) or outcome.address == trial.address:
            return outcome
        try:
            return self.store.share(outcome, trial)
        except LabError as error:
            return error

    def _divided(self, trials: Sequence[Trial], again: Collection[str]) -> Iterator[tuple[Crew, Sequence[Trial]]]:
        """Yield who performs which trials, in this order; those at the addresses `again` have old records."""
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
        """Return the addresses of all real-time trials, unless all have a record, and all records are of one batch."""
        real = {trial.address for trial in trials if trial.clock != "virtual"}
        stored = [self.store.get(address) for address in real]
        batches = {record.batch if record else "" for record in stored}
        return real if len(batches) > 1 or "" in batches else set()


@dataclass(frozen=True)
class Cores:
    """Perform trials on this machine's cores, one guest on each.

    `places` says of a trial when it ran among others, `again` which addresses have a record that is to go.
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
        """Perform each trial on a core that is free. When the iteration ends early, so do all guests."""
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
                if trial.address in self.again:  # any other record is another run's, of just now
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
    """Tell whether another machine may perform the trial, since its bytes are the same there."""
    return not cpu_takes_time(trial.on, trial.clock)


def alike(trials: Iterable[Trial]) -> tuple[tuple[Trial, ...], ...]:
    """Group trials that leave the same bytes, in the order of the first of each; in real time no two do."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.run_address if travels(trial) else trial.address, []).append(trial)
    return tuple(map(tuple, groups.values()))


def _interleaved(trials: Sequence[Trial], batch: str) -> list[Trial]:
    """Order trials in blocks, one per repeat, each shuffled: another way in every batch, as its name decides."""
    chance = random.Random(batch)
    blocks: dict[int, list[Trial]] = {}
    for trial in trials:
        blocks.setdefault(trial.repeat, []).append(trial)
    for block in blocks.values():
        chance.shuffle(block)
    return [trial for _, block in sorted(blocks.items()) for trial in block]


class _Guests:
    """Keep the running guests, so that all of them can be ended from another thread."""

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
