"""Run trials on a Dask cluster, and put their records into the caller's store."""

from __future__ import annotations

import asyncio
import io
import queue
import secrets
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distributed import Client, Future

from lab.errors import LabError, MachineError
from lab.ext.cluster import parts
from lab.ext.cluster import worker_tasks as pilot
from lab.ext.cluster.parts import Part
from lab.ext.cluster.remote_call import errand
from lab.ext.cluster.where import SchedulerGone, address, connected, lost, reached
from lab.ext.cluster.worker_tasks import Plain
from lab.ext.cluster.workers import Muster
from lab.guest.trial import HOST, Trial, canonical
from lab.machine.kernel import Budget, Kernel, UmlKernel
from lab.machine.userland.cache import load
from lab.record.date import now
from lab.record.record import Record, RecordError
from lab.record.store import Store
from lab.report.wording import plural
from lab.runner.guest import TrialFailed, keep
from lab.runner.progress import Display
from lab.units import to_plain

AHEAD = 2  # trials handed out per core: one runs, one waits
TOGETHER = 32  # answers fetched at once: some megabytes each
STORING = 8  # records written at once
TRIES = 3  # of a trial, on workers that turn out to be unfit
_POLL_SECONDS = 0.2  # the longest delay of a Ctrl-C
_BATCH_SECONDS = 0.05  # the longest wait of a trial until several are handed out together
_SEEN_SECONDS = 60.0  # for a worker's files to appear here: network file systems cache listings for this long


@contextmanager
def assembled(
    where: str | Client,
    store: Store,
    kernels: Collection[Kernel],
    budget: Budget,
    before: Callable[[Trial], None],
    cost: Mapping[str, float],
    display: Display,
) -> Iterator[_ClusterCrew]:
    """Yield the crew of a cluster. Everything that was started for the crew is ended afterwards.

    Raises InputError and MachineError. `before` is called with each trial before the trial is handed out. `cost` holds
    each trial's estimated seconds, by address.
    """
    with connected(where) as client, store.scratch() as scratch:
        token = scratch / "token"
        token.write_text(secrets.token_hex())
        pages = f", dashboard: {client.dashboard_link}" if client.dashboard_link else ""
        display.remark(f"cluster: {address(client)}{pages}")
        yield _ClusterCrew(client, store, kernels, budget, before, cost, display, token)


@dataclass(frozen=True)
class _ClusterCrew:
    """Runs trials on the workers of a Dask cluster (see `assembled`)."""

    client: Client
    store: Store
    kernels: Collection[Kernel]
    budget: Budget
    before: Callable[[Trial], None]
    cost: Mapping[str, float]
    display: Display
    token: Path  # a file of ours: a worker that sees it shares the store

    def perform(
        self, trials: Sequence[Trial], started: Callable[[Trial], None]
    ) -> Iterator[tuple[Trial, Record | LabError]]:
        """Run each trial, the most expensive first. If the iteration ends early, the cluster ends the trials."""
        run = _Run(self, trials, started)
        try:
            with reached(self.client):
                yield from run.outcomes()
        finally:
            run.recall()

    def wanted(self, trials: Sequence[Trial]) -> Plain:
        """Return the requirements of these trials for workers, in the form that `worker_tasks.admit` takes."""
        return {
            "code": pilot.own_code(),
            "tools": {name: version for trial in trials for name, version in trial.tools.items()},
            "token": (str(self.token.absolute()), self.token.read_text()),
        }

    def parts(self, trials: Sequence[Trial]) -> dict[Part, Path]:
        """Return the kernels and userlands of these trials, with their local paths."""
        idents = {str(trial.kernel["id"]) for trial in trials}
        kernels = [each for each in self.kernels if isinstance(each, UmlKernel) and each.id in idents]
        userlands = filter(None, map(load, sorted({trial.userland for trial in trials} - {HOST})))
        found = {parts.of_kernel(kernel): kernel.path.parent for kernel in kernels}
        return found | {parts.of_userland(userland): userland.tree.parent for userland in userlands}


@dataclass(frozen=True)
class _Flight:
    """Describes a trial that was handed out, and its workers."""

    trial: Trial
    workers: frozenset[str]  # those that may run it
    future: Future[Any]


@dataclass(frozen=True)
class _Unfit:
    """Reports that a worker could not run a trial because of the worker itself."""

    worker: str
    reason: str


class _Run:
    """Runs many trials. The caller's thread hands out and judges trials, while Dask's threads deliver events."""

    def __init__(self, crew: _ClusterCrew, trials: Sequence[Trial], started: Callable[[Trial], None]) -> None:
        self.crew, self.started, self.perform = crew, started, errand(pilot.perform)
        places = crew.parts(trials)
        self.kernels = {part.id: part for part in places if part.kind == parts.KERNEL}
        self.muster = Muster(crew.client, crew.wanted(trials), places, crew.display)
        self.waiting = deque(sorted(trials, key=lambda trial: -crew.cost[trial.address]))
        self.flying: dict[str, _Flight] = {}  # by Dask's key
        self.topic = f"replab-begun-{secrets.token_hex(4)}"
        self.begun: set[str] = set()  # keys of tasks that a worker has begun; the others wait
        self.events: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self.tries: dict[str, int] = {}
        self.losses = 0  # of workers, at the last search for stranded trials
        self.since = time.monotonic()
        self.done = 0.0  # of the estimated cost
        self.left = sum(crew.cost[trial.address] for trial in trials)

    def outcomes(self) -> Iterator[tuple[Trial, Record | LabError]]:
        """Yield each trial with its outcome when the trial ends."""
        self.crew.client.subscribe_topic(self.topic, self._note_begun)
        with ThreadPoolExecutor(STORING) as disk:
            while self.waiting or self.flying:
                self.muster.look()
                if self.muster.losses != self.losses:
                    self.losses = self.muster.losses
                    self._call_back(self._stranded())
                self._call_back(self._misplaced())
                while self.waiting and len(self.flying) < AHEAD * self.muster.slots:
                    self._hand_out(AHEAD * self.muster.slots - len(self.flying))
                landed = self._landed()
                for (flight, _), found in zip(landed, disk.map(self._outcome, landed), strict=True):
                    outcome = self._blamed(flight.trial, found) if isinstance(found, _Unfit) else found
                    if outcome is None:
                        self.waiting.appendleft(flight.trial)
                        continue
                    self._account(flight.trial)
                    yield flight.trial, outcome

    def recall(self) -> None:
        """Cancel the trials that were handed out, which also ends the workers' guests."""
        futures = [flight.future for flight in self.flying.values()]
        with suppress(SchedulerGone, OSError, TimeoutError, RuntimeError, ValueError), reached(self.crew.client):
            self.crew.client.cancel(futures)
            self.crew.client.unsubscribe_topic(self.topic)

    def _hand_out(self, most: int) -> None:
        """Hand out up to `most` trials together, which costs less than one by one, or fewer if predictions are slow."""
        workers = frozenset(self.muster.admitted)
        shared = workers <= self.muster.sharing
        batch: dict[str, Trial] = {}
        tasks = []
        begun = time.monotonic()
        while self.waiting and len(batch) < most and time.monotonic() - begun < _BATCH_SECONDS:
            trial = self.waiting.popleft()
            tasks.append(self._task(trial, shared))
            batch[f"replab-{trial.address}-{secrets.token_hex(4)}"] = trial
        futures = self.crew.client.map(self.perform, tasks, key=list(batch), workers=list(workers), pure=False)
        for (key, trial), future in zip(batch.items(), futures, strict=True):
            self.flying[key] = _Flight(trial, workers, future)
            future.add_done_callback(self.events.put)

    def _task(self, trial: Trial, shared: bool) -> Plain:
        crew = self.crew
        crew.before(trial)
        self.started(trial)
        return {
            "trial": canonical(trial),
            "kernel": tuple(self.kernels[trial.kernel["id"]]),
            "asked": now(),
            "budget": to_plain(crew.budget),
            "results": str(crew.store.root.absolute()) if shared else "",
            "topic": self.topic,
        }

    def _note_begun(self, event: tuple[float, str]) -> None:
        """Record the key of a task that a worker has started. Dask calls this method in a separate thread."""
        self.begun.add(event[1])

    def _stranded(self) -> list[str]:
        """Return the tasks that wait for lost workers. Dask would wait for these workers to come back."""
        alive = self.muster.admitted.keys()
        return [key for key, flight in self.flying.items() if not flight.workers & alive]

    def _misplaced(self) -> list[str]:
        """Return the tasks that wait for a busy worker although a worker that joined later is idle."""
        if self.waiting or sum(key in self.begun for key in self.flying) >= self.muster.slots:
            return []
        all_workers = self.muster.admitted.keys()
        return [key for key, flight in self.flying.items() if key not in self.begun and all_workers - flight.workers]

    def _call_back(self, keys: list[str]) -> None:
        for key in keys:
            flight = self.flying.pop(key)
            flight.future.cancel()
            self.waiting.appendleft(flight.trial)

    def _landed(self) -> list[tuple[_Flight, Plain | None]]:
        """Wait for trials to end. Return some ended trials with their answers, which are fetched in one batch."""
        ended: list[_Flight] = []
        with suppress(queue.Empty):
            while len(ended) < TOGETHER:
                key = str(self.events.get(timeout=0 if ended else _POLL_SECONDS).key)
                self.begun.discard(key)
                if key in self.flying:  # otherwise it was called back
                    ended.append(self.flying.pop(key))
        finished = [flight.future for flight in ended if flight.future.status == "finished"]
        answers: dict[Future[Any], Plain] = {}
        with suppress(CancelledError, asyncio.CancelledError, OSError):  # the scheduler, or a worker, has just gone
            answers = dict(zip(finished, self.crew.client.gather(finished), strict=True)) if finished else {}
        return [(flight, answers.get(flight.future)) for flight in ended]

    def _outcome(self, landed: tuple[_Flight, Plain | None]) -> Record | LabError | _Unfit | None:
        """Return the trial's outcome, with its record in the store, or None if the trial must be handed out again.

        The method runs in threads, so that several records are checked and written in parallel.
        """
        flight, answer = landed
        trial = flight.trial
        if flight.future.status == "error":
            return TrialFailed(f"the workers that ran it ended: {flight.future.exception()}", 1)
        if answer is None:
            if lost(self.crew.client):
                raise SchedulerGone
            return None
        if answer["unfit"]:
            return _Unfit(answer["worker"], answer["error"])
        if answer["error"]:
            return self._failed(trial, answer)
        try:
            return self._record(trial, answer)
        except RecordError as error:
            return _Unfit(answer["worker"], str(error))

    def _record(self, trial: Trial, answer: Plain) -> Record:
        crew = self.crew
        if answer["archive"] is not None:
            origin = f"the record from {self.muster.name(answer['worker'])}"
            return crew.store.receive(trial.address, io.BytesIO(answer["archive"]), origin)
        deadline = time.monotonic() + _SEEN_SECONDS
        while (record := crew.store.get(trial.address)) is None:
            if time.monotonic() > deadline:
                raise RecordError(f"its record is not in {crew.store.root}")
            time.sleep(_POLL_SECONDS)
        record.verify()
        return record

    def _blamed(self, trial: Trial, found: _Unfit) -> LabError | None:
        """Refuse an unfit worker. Return None if other workers may still try the trial."""
        self.muster.refuse(found.worker, found.reason)
        self.tries[trial.address] = self.tries.get(trial.address, 0) + 1
        return MachineError(found.reason) if self.tries[trial.address] == TRIES else None

    def _failed(self, trial: Trial, answer: Plain) -> LabError:
        said = answer["error"]
        if answer["console"]:
            with self.crew.store.scratch() as scratch:
                (scratch / "console.log").write_bytes(answer["console"])
                kept = keep(scratch / "console.log", self.crew.store, trial)
            said = f"{said}; its console is in {kept}"
        return TrialFailed(said, answer["exit_code"])

    def _account(self, trial: Trial) -> None:
        """Show the state of the run, with the remaining time if all trials take equally long per estimated cost."""
        cost = self.crew.cost[trial.address]
        self.done, self.left = self.done + cost, self.left - cost
        workers = len(self.muster.admitted)
        seconds = (time.monotonic() - self.since) * self.left / self.done
        left = f", {_spoken(seconds)} left" if self.flying or self.waiting else ""
        self.crew.display.status(f"{plural(workers, 'worker')}{left}")


def _spoken(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
