"""Run and judge claims, on one kernel or on several at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lab.app import room
from lab.app.extension import hook
from lab.app.judging import Judging
from lab.errors import LabError
from lab.guest.trial import Trial
from lab.record.record import Record
from lab.record.store import Store
from lab.runner.plan import PlannedCase, Settings, plan, trials_of
from lab.runner.predicting import predicting
from lab.runner.progress import Display, shown
from lab.runner.schedule import Progress, Runner, alike, travels
from lab.spec.loaded import LoadedExperiment
from lab.verdict.judged import JudgedClaim, predict_case
from lab.verdict.predictions import Predictions

if TYPE_CHECKING:
    from lab.app.options import RunOptions


class Interrupted(LabError):
    """Raised after the user has pressed Ctrl-C."""

    exit_code = 130  # 128 + SIGINT, as in shells


Asked = tuple[Sequence[LoadedExperiment], Settings]
Judged = Callable[[JudgedClaim], None]


@dataclass(frozen=True)
class Judgement:
    """Holds the judged claims in order and the errors of failed trials."""

    judged: tuple[JudgedClaim, ...]
    errors: tuple[LabError, ...]


class Coming(Protocol):
    """Describes kernels that are being built while trials run."""

    def parts(self, experiments: Sequence[LoadedExperiment]) -> Iterator[Sequence[LoadedExperiment]]:
        """Yield claims as soon as all their kernels are built. Wait for a kernel only if no other claims are left.

        Claims whose kernel build fails are never yielded. After the last claim, no build is still running.
        """

    def shown(self, display: Display) -> AbstractContextManager[None]:
        """Let `display` show the builds' progress within this context."""

    def check(self) -> None:
        """Raise the error of a failed build, if there is one."""


def run(
    experiments: Sequence[LoadedExperiment],
    settings: Settings,
    options: RunOptions,
    judged: Judged | None = None,
    tells: bool = True,
    coming: Coming | None = None,
) -> Judgement:
    """Run missing trials, and return all judged claims. Pass each claim to `judged` when its last trial has ended.

    With `tells`, also print the verdict at that time; otherwise, the caller prints the verdicts. With kernels that are
    `coming`, a claim runs as soon as its kernels are built, and real-time trials run after all builds. Raises
    SpecError, MachineError, Interrupted, build errors, and NoRoom unless `anyway`.
    """
    store = Store(options.folder)
    judging = Judging(experiments, (), settings, store.predictions)
    outcomes: dict[str, Record | LabError] = {}
    ran: set[str] = set()

    def watched(display: Display) -> Progress:
        return _Verdicts(display, judging, judged, tells, ran)

    def performed(planned: Sequence[PlannedCase], now: Sequence[Trial], later: Sequence[Trial]) -> None:
        asked = [(experiments, settings)]
        found = perform(
            *(asked, [planned], now, store, options),
            watched=watched,
            coming=coming,
            later=later,
            meanwhile=partial(_import_what_shows, planned),
        )
        outcomes.update(found)

    planned = plan(experiments, settings)  # plan all claims first, so that mistakes show before anything runs
    with store.held(), _interruptible():
        if coming is None:
            judging.expect(planned)
            performed(planned, trials_of(planned), ())
        else:
            planned, last = [], list[Trial]()
            for part in coming.parts(experiments):
                fresh = plan(part, settings)
                judging.expect(fresh)
                planned += fresh
                last += [trial for trial in trials_of(fresh) if not travels(trial)]
                performed(planned, [trial for trial in trials_of(fresh) if travels(trial)], last)
            if last:
                performed(planned, last, ())
            coming.check()
        return Judgement(*judging.all_ended(outcomes))


def run_beside(asked: Sequence[Asked], options: RunOptions, together: bool = False) -> tuple[Judgement, ...]:
    """Return the judgements of several runs at once.

    Real-time trials are interleaved, so that drift affects all runs equally. With `together`, trials whose records are
    from different times run again (see `Runner`).
    """
    plans = [plan(experiments, settings) for experiments, settings in asked]
    trials = [trial for planned in plans for trial in trials_of(planned)]
    store = Store(options.folder)
    with store.held():
        outcomes = perform(asked, plans, trials, store, options, together)
        return tuple(
            Judgement(*Judging(experiments, planned, settings, store.predictions).all_ended(outcomes))
            for planned, (experiments, settings) in zip(plans, asked, strict=True)
        )


def perform(
    asked: Sequence[Asked],
    plans: Sequence[Sequence[PlannedCase]],
    trials: Sequence[Trial],
    store: Store,
    options: RunOptions,
    together: bool = False,
    watched: Callable[[Display], Progress] | None = None,
    coming: Coming | None = None,
    later: Sequence[Trial] = (),
    meanwhile: Callable[[], None] | None = None,
) -> dict[str, Record | LabError]:
    """Run the planned `trials` that neither `store` nor a shared store has. Return the outcomes by address.

    `watched` wraps the display. The display also shows the kernels that are `coming`. The check for disk space and
    memory includes the `later` trials. `meanwhile` is called while guests run. Raises MachineError, Interrupted, and
    NoRoom unless `anyway`.
    """
    everything = [each for planned in plans for each in planned]
    kernels = {each.kernel.id: each.kernel for each in everything}
    costs = {trial.address: each.cost for each in everything for trial in each.trials}
    jobs = options.jobs
    fetch = hook("store", "a shared store")(options.store) if options.store else None
    with _interruptible(), ExitStack() as stack:
        lacks = any(store.get(trial.address) is None for trial in trials)
        cores = len(os.sched_getaffinity(0))  # a prediction keeps a core busy from its beginning to its end
        tasks = _predictions(asked, plans, store.predictions)
        processes = min(jobs or cores, cores, len(trials)) if lacks else 0
        predict = stack.enter_context(predicting(tasks, processes))  # before threads start
        display = stack.enter_context(shown(len(trials)))
        if coming:
            stack.enter_context(coming.shown(display))
        if fetch:
            fetch(trials, store, display.remark)
        if not options.anyway:
            lacking = [trial for trial in (*trials, *later) if store.get(trial.address) is None]
            needs = room.needed([costs[first.address] for first, *_ in alike(lacking)], jobs)
            room.check(replace(needs, memory=None) if options.cluster else needs, store.root)
        crew = None
        if options.cluster and any(travels(trial) and not store.get(trial.address) for trial in trials):
            seconds = {address: cost.seconds for address, cost in costs.items()}
            assembled = hook("workers", "a cluster")
            joined = assembled(
                options.cluster, store, list(kernels.values()), options.limits, predict, seconds, display
            )
            crew = stack.enter_context(joined)
        runner = Runner(store, list(kernels.values()), jobs, options.limits, together, predict, crew, meanwhile)
        return runner.run(trials, watched(display) if watched else display)


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("interrupted: finished trials are kept; run the command again to continue") from None


def _import_what_shows(planned: Sequence[PlannedCase]) -> None:
    """Import what shows claims now, while a core is free, because that takes as long as a short trial."""
    with suppress(ImportError):  # the display reports it
        import_module("lab.report.claims")
        if any(each.case.probes for each in planned):
            import_module("numpy")  # reads packets and samples


def _predictions(
    asked: Sequence[Asked], plans: Sequence[Sequence[PlannedCase]], folder: Path
) -> dict[str, list[Callable[[], None]]]:
    """Return, for each trial, the functions that compute and store the predictions for its cases."""
    tasks: dict[str, list[Callable[[], None]]] = {}
    for (experiments, settings), planned in zip(asked, plans, strict=True):
        kernel = settings.kernel.describe()
        predictions = {loaded.id: Predictions(folder, loaded.source_sha256, kernel["id"]) for loaded in experiments}
        for each in planned:
            kept = predictions[each.case.claim]
            wanted = [partial(predict_case, case, kernel, kept) for case in each.cases]
            for run in {trial.run_address for trial in each.trials}:
                tasks.setdefault(run, []).extend(wanted)
    return tasks


@dataclass(frozen=True)
class _Verdicts:
    """Shows the trials, and the verdicts of all claims except those whose records were all in the store."""

    display: Display
    judging: Judging
    judged: Judged | None
    tells: bool
    ran: set[str]  # the claims with a trial that ran

    def started(self, trial: Trial) -> None:
        """Report the start of the trial to the display."""
        self.display.started(trial)

    def ended(self, trial: Trial, outcome: Record | LabError, stored: bool) -> None:
        """Report the end of the trial to the display.

        If this was the last trial of its claim, show the claim's verdict.
        """
        self.display.ended(trial, outcome, stored)
        if not stored:
            self.ran.add(trial.claim)
        found = self.judging.ended(trial, outcome)
        if found is not None and trial.claim in self.ran:
            if self.tells:
                self.display.remark(f"{trial.claim}: {found.result.verdict.kind}")
            if self.judged:
                self.judged(found)
