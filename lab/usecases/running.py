"""Run and judge claims, on one kernel or on several next to each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lab.errors import LabError
from lab.kernel import Budget
from lab.record.record import Record
from lab.record.store import Store
from lab.record.trial import Trial
from lab.runner.plan import PlannedCase, Settings, plan
from lab.runner.predicting import predicting
from lab.runner.progress import Display, shown
from lab.runner.schedule import Progress, Runner, alike, travels
from lab.spec.loaded import LoadedExperiment
from lab.usecases import room
from lab.usecases.judging import Judging
from lab.verdict.judged import JudgedClaim, predict_case
from lab.verdict.predictions import Predictions

if TYPE_CHECKING:
    from distributed import Client

    from lab.record.shared import SharedStore

__all__ = ["Asked", "Coming", "Elsewhere", "Interrupted", "Judged", "Judgement", "perform", "run", "run_beside"]


class Interrupted(LabError):
    """The user pressed Ctrl-C."""

    exit_code = 130  # 128 + SIGINT, as shells say it


Asked = tuple[Sequence[LoadedExperiment], Settings]
Judged = Callable[[JudgedClaim], None]


@dataclass(frozen=True)
class Elsewhere:
    """Say where records come from besides this machine: a shared store is read first, a cluster performs the rest.

    The cluster is given as `lab run --cluster` takes it, or by a Dask client of the caller's own.
    """

    store: SharedStore | None = None
    cluster: str | Client | None = None


@dataclass(frozen=True)
class Judgement:
    """Hold the judged claims in order, and the errors that trials ended with."""

    judged: tuple[JudgedClaim, ...]
    errors: tuple[LabError, ...]


class Coming(Protocol):
    """Kernels that are being built beside the trials."""

    def parts(self, experiments: Sequence[LoadedExperiment]) -> Iterator[Sequence[LoadedExperiment]]:
        """Yield claims as soon as all their kernels are here, waiting for one where no other claim is left.

        Those of a kernel that does not come are never yielded. At the end nothing is being built any more.
        """

    def shown(self, display: Display) -> AbstractContextManager[None]:
        """Let `display` show how the builds go on, for as long as this lasts."""

    def check(self) -> None:
        """Raise what a build ended with, if one failed."""


def run(
    experiments: Sequence[LoadedExperiment],
    settings: Settings,
    results: Path,
    jobs: int | None = None,
    budget: Budget = Budget(),
    elsewhere: Elsewhere = Elsewhere(),
    judged: Judged | None = None,
    anyway: bool = False,
    tells: bool = True,
    coming: Coming | None = None,
) -> Judgement:
    """Run what the store lacks, and judge all claims; tell `judged` each as soon as its last trial has ended.

    `tells`: its verdict is shown then, too; without, the caller has words of its own for it. With kernels that are
    `coming`, claims run as these are here, and trials in real time when nothing is being built any more.
    Raises SpecError, MachineError, Interrupted, what a build raises; NoRoom, unless it is to begin `anyway`.
    """
    store = Store(results)
    judging = Judging(experiments, (), settings, store.predictions)
    outcomes: dict[str, Record | LabError] = {}
    ran: set[str] = set()

    def watched(display: Display) -> Progress:
        return _Verdicts(display, judging, judged, tells, ran)

    def performed(planned: Sequence[PlannedCase], now: Sequence[Trial], later: Sequence[Trial]) -> None:
        asked = [(experiments, settings)]
        found = perform(
            *(asked, [planned], now, store, jobs, budget),
            elsewhere=elsewhere,
            watched=watched,
            anyway=anyway,
            coming=coming,
            later=later,
            meanwhile=_import_what_shows_claims,
        )
        outcomes.update(found)

    planned = plan(experiments, settings)  # of all: mistakes are said before anything runs
    with store.held(), _interruptible():
        if coming is None:
            judging.expect(planned)
            performed(planned, _trials(planned), ())
        else:
            planned, last = [], list[Trial]()
            for part in coming.parts(experiments):
                fresh = plan(part, settings)
                judging.expect(fresh)
                planned += fresh
                last += [trial for trial in _trials(fresh) if not travels(trial)]
                performed(planned, [trial for trial in _trials(fresh) if travels(trial)], last)
            if last:
                performed(planned, last, ())
            coming.check()
        return Judgement(*judging.all_ended(outcomes))


def run_beside(
    asked: Sequence[Asked],
    results: Path,
    jobs: int | None = None,
    budget: Budget = Budget(),
    together: bool = False,
    elsewhere: Elsewhere = Elsewhere(),
    anyway: bool = False,
) -> tuple[Judgement, ...]:
    """Do as `run` does, for several at once. Their real-time trials are mixed, so that drift affects all equally.

    `together`: those whose records are of different times run again (see `Runner`).
    """
    plans = [plan(experiments, settings) for experiments, settings in asked]
    trials = [trial for planned in plans for each in planned for trial in each.trials]
    store = Store(results)
    with store.held():
        outcomes = perform(asked, plans, trials, store, jobs, budget, together, elsewhere, anyway=anyway)
        return tuple(
            Judgement(*Judging(experiments, planned, settings, store.predictions).all_ended(outcomes))
            for planned, (experiments, settings) in zip(plans, asked, strict=True)
        )


def perform(
    asked: Sequence[Asked],
    plans: Sequence[Sequence[PlannedCase]],
    trials: Sequence[Trial],
    store: Store,
    jobs: int | None,
    budget: Budget,
    together: bool = False,
    elsewhere: Elsewhere = Elsewhere(),
    watched: Callable[[Display], Progress] | None = None,
    anyway: bool = False,
    coming: Coming | None = None,
    later: Sequence[Trial] = (),
    meanwhile: Callable[[], None] | None = None,
) -> dict[str, Record | LabError]:
    """Run those of the planned `trials` that neither `store` nor a shared one has; return each one's outcome.

    `watched` puts something between the runner and the display, which shows what is `coming`, too. The `later` trials
    need room as well; `meanwhile` is done while guests run. Raises MachineError, Interrupted; NoRoom, unless it is to
    begin `anyway`.
    """
    everything = [each for planned in plans for each in planned]
    kernels = {each.kernel.id: each.kernel for each in everything}
    costs = {trial.address: each.cost for each in everything for trial in each.trials}
    with _interruptible(), ExitStack() as stack:
        lacks = any(store.get(trial.address) is None for trial in trials)
        cores = len(os.sched_getaffinity(0))  # a prediction computes from its beginning to its end
        tasks = _predictions(asked, plans, store.predictions)
        processes = min(jobs or cores, cores, len(trials)) if lacks else 0
        predict = stack.enter_context(predicting(tasks, processes))  # before there are threads
        display = stack.enter_context(shown(len(trials)))
        if coming:
            stack.enter_context(coming.shown(display))
        if elsewhere.store:
            from lab.usecases.sharing import fetch

            fetch(trials, elsewhere.store, store, display.remark)
        if not anyway:
            lacking = [trial for trial in (*trials, *later) if store.get(trial.address) is None]
            needs = room.needed([costs[first.address] for first, *_ in alike(lacking)], jobs)
            room.check(replace(needs, memory=None) if elsewhere.cluster else needs, store.root)
        crew = None
        if elsewhere.cluster and any(travels(trial) and not store.get(trial.address) for trial in trials):
            from lab.cluster.crew import assembled

            seconds = {address: cost.seconds for address, cost in costs.items()}
            joined = assembled(elsewhere.cluster, store, list(kernels.values()), budget, predict, seconds, display)
            crew = stack.enter_context(joined)
        runner = Runner(store, list(kernels.values()), jobs, budget, together, predict, crew, meanwhile)
        return runner.run(trials, watched(display) if watched else display)


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("interrupted: finished trials are kept, run again to go on") from None


def _trials(planned: Sequence[PlannedCase]) -> list[Trial]:
    return [trial for each in planned for trial in each.trials]


def _import_what_shows_claims() -> None:
    """Do it now, when a core is free: it takes as long as a short guest."""
    with suppress(ImportError):  # whoever shows them says so
        import_module("lab.report.claims")


def _predictions(
    asked: Sequence[Asked], plans: Sequence[Sequence[PlannedCase]], folder: Path
) -> dict[str, list[Callable[[], None]]]:
    """Return, by the run of a trial, what makes and keeps what is predicted for the cases that it is about."""
    tasks: dict[str, list[Callable[[], None]]] = {}
    for (experiments, settings), planned in zip(asked, plans, strict=True):
        kernel = settings.kernel.describe()
        predictions = {loaded.id: Predictions(folder, loaded.source_sha256, kernel["id"]) for loaded in experiments}
        for each in planned:
            predict = partial(predict_case, each.case, kernel, predictions[each.case.claim])
            for run in {trial.run_address for trial in each.trials}:
                tasks.setdefault(run, []).append(predict)
    return tasks


@dataclass(frozen=True)
class _Verdicts:
    """Show, besides the trials, the verdict of each claim that is judged; what the store had whole is no news."""

    display: Display
    judging: Judging
    judged: Judged | None
    tells: bool
    ran: set[str]  # the claims of which a trial ran

    def started(self, trial: Trial) -> None:
        """Pass it on."""
        self.display.started(trial)

    def ended(self, trial: Trial, outcome: Record | LabError, stored: bool) -> None:
        """Pass it on; say the verdict of the trial's claim, if it was the last one."""
        self.display.ended(trial, outcome, stored)
        if not stored:
            self.ran.add(trial.claim)
        found = self.judging.ended(trial, outcome)
        if found is not None and trial.claim in self.ran:
            if self.tells:
                self.display.remark(f"{trial.claim}: {found.result.verdict.kind}")
            if self.judged:
                self.judged(found)
