"""Claims run and judged: what the command line and `lab.run` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.kernel import Budget
from lab.record.record import Record
from lab.record.store import Store
from lab.run.plan import Planned, Settings, plan
from lab.run.progress import shown
from lab.run.schedule import Runner
from lab.spec.load import Loaded
from lab.verdict import Verdict
from lab.verdict.judged import Judged, judge
from lab.verdict.predictions import Predictions

__all__ = ["Answer", "Interrupted", "run", "run_beside"]


class Interrupted(LabError):
    """Ctrl-C."""

    exit_code = 130  # 128 + SIGINT, as shells say it


@dataclass(frozen=True)
class Answer:
    """The judged claims in order, and the errors that trials ended with."""

    judged: tuple[Judged, ...]
    errors: tuple[LabError, ...]

    @property
    def exit_code(self) -> int:
        """3 where the machine could not run a trial, 1 where a verdict or a model is not as expected, else 0."""
        if any(error.exit_code == 3 for error in self.errors):
            return 3
        if any(each.result.verdict.kind == "skipped" for each in self.judged):
            return 3
        return int(not all(each.passed for each in self.judged))


def run(
    experiments: Sequence[Loaded],
    settings: Settings,
    results: Path,
    jobs: int | None = None,
    budget: Budget = Budget(),
) -> Answer:
    """Run what the store lacks, and judge all. Raises SpecError, MachineError, Interrupted."""
    (answer,) = run_beside(experiments, [settings], results, jobs, budget)
    return answer


def run_beside(
    experiments: Sequence[Loaded],
    all_settings: Sequence[Settings],
    results: Path,
    jobs: int | None = None,
    budget: Budget = Budget(),
) -> tuple[Answer, ...]:
    """As `run`, for several settings: their trials in real time are mixed, so that what drifts falls on all alike."""
    plans = [plan(experiments, settings) for settings in all_settings]
    everything = [each for planned in plans for each in planned]
    trials = [trial for each in everything for trial in each.trials]
    store = Store(results)
    try:
        with shown(len(trials)) as progress:
            kernels = {each.kernel.id: each.kernel for each in everything}
            outcomes = Runner(store, list(kernels.values()), jobs, budget).run(trials, progress)
    except KeyboardInterrupt:
        raise Interrupted("interrupted: finished trials are kept, run again to go on") from None
    return tuple(
        _answer(experiments, planned, outcomes, settings, store.predictions)
        for planned, settings in zip(plans, all_settings, strict=True)
    )


def _answer(
    experiments: Sequence[Loaded],
    planned: Sequence[Planned],
    outcomes: Mapping[str, Record | LabError],
    settings: Settings,
    predictions: Path,
) -> Answer:
    ended = [outcomes[trial.address] for each in planned for trial in each.trials]
    errors = tuple(outcome for outcome in ended if isinstance(outcome, LabError))
    judged = tuple(
        _judge(loaded, own, outcomes, settings, predictions)
        for loaded in experiments
        for own in [[each for each in planned if each.case.claim == loaded.id]]
    )
    return Answer(judged, errors)


def _judge(
    loaded: Loaded,
    planned: Sequence[Planned],
    outcomes: Mapping[str, Record | LabError],
    settings: Settings,
    folder: Path,
) -> Judged:
    without = {}
    records: list[Record] = []
    for each in planned:
        ended = [outcomes[trial.address] for trial in each.trials]
        name = (each.case.arm, each.case.point)
        failed = [outcome for outcome in ended if isinstance(outcome, LabError)]
        if each.skipped:
            without[name] = Verdict("skipped", each.skipped)
        elif failed:
            without[name] = Verdict("invalid", str(failed[0]))
        else:
            records += [outcome for outcome in ended if isinstance(outcome, Record)]
    cases = tuple(each.case for each in planned)
    kernel = settings.kernel.describe()
    result = judge(cases, records, kernel, settings.clock, Predictions(folder, loaded.source_sha256), without)
    return Judged(loaded, cases, result, tuple(records), kernel)
