"""Run the trials of claims on counted kernels, and collect their counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lab.app.options import SuiteOptions
from lab.errors import LabError
from lab.ext import alone
from lab.ext.cost.counts import TrialCounts, read
from lab.ext.cost.kernel import CountedKernel
from lab.guest.probe import CpuTime
from lab.guest.trial import Trial
from lab.record.record import Record, RecordError
from lab.record.store import Store
from lab.runner.plan import PlannedCase, Settings, plan, trial_of
from lab.runner.schedule import Runner
from lab.spec.loaded import LoadedExperiment

__all__ = ["FOLDER", "CaseCost", "measure"]

FOLDER = "cost"  # below a store: the store of counted trials
_PROBES = (CpuTime(),)  # with this probe, a busy CPU does not make the trial invalid


@dataclass(frozen=True)
class CaseCost:
    """Holds the counts of one network with one workload: of one arm, or of several arms that differ only in probes."""

    claim: str
    arms: tuple[str, ...]  # with the sweep's point, if there is one
    messages: int | None  # what the workload declares
    counts: Mapping[str, tuple[TrialCounts, ...]]  # by the kernel's name, one for each seed and repeat
    missing: Mapping[str, str]  # by the kernel's name: why a kernel has no counts
    skipped: str = ""  # why no distribution kernel can run the case: then nothing is missing, and nothing is compared


def measure(
    experiments: Sequence[LoadedExperiment],
    kernels: Sequence[CountedKernel],
    seeds: Sequence[int],
    repeats: int,
    options: SuiteOptions,
) -> tuple[CaseCost, ...]:
    """Run the trials that the store does not have, and return the counts of each case.

    The trials have no probes except CpuTime, because captures and samples cost instructions, too. Repeats run the same
    trials again, and only their counts are kept. Raises the errors of planning, MachineError, and Interrupted. A failed
    trial is a reason in `missing`.
    """
    asked = [_plan(experiments, kernel, seeds) for kernel in kernels]
    store = Store(options.folder / FOLDER)
    trials = [trial for of_kernel in asked for first, *_ in _distinct(of_kernel).values() for trial in first.trials]
    with store.held():
        ran = [_run(store, kernels, trials, options)]
        for _ in range(1, repeats):
            with store.scratch() as fresh:
                ran.append(_run(Store(fresh, durable=False), kernels, trials, options))
    found: dict[tuple[str, str], CaseCost] = {}
    for kernel, of_kernel in zip(kernels, asked, strict=True):
        for key, each in _distinct(of_kernel).items():
            case = each[0].case
            messages = case.workload.writer().messages
            blank = CaseCost(case.claim, tuple(map(_label, each)), messages.count if messages else None, {}, {})
            known = found.get(key, blank)
            if each[0].skipped and case.kernel is not None:
                found[key] = replace(known, skipped=each[0].skipped)
                continue
            counts, reason = _counts(each[0], ran)
            found[key] = replace(
                known,
                counts={**known.counts, kernel.name: counts},
                missing={**known.missing, **({kernel.name: reason} if reason else {})},
            )
    return tuple(found.values())


def _run(
    store: Store, kernels: Sequence[CountedKernel], trials: Sequence[Trial], options: SuiteOptions
) -> dict[str, TrialCounts | LabError]:
    """Run trials, and return the counts of each, or why there are none, by address."""
    outcomes = alone.outcomes(Runner(store, kernels, options.jobs, options.limits), trials, "trials")
    return {address: _read(outcome) for address, outcome in outcomes.items()}


def _read(outcome: Record | LabError) -> TrialCounts | LabError:
    try:
        if isinstance(outcome, LabError):
            return outcome
        if outcome.invalid:
            return RecordError(f"the trial is invalid: {outcome.invalid[0]}")
        return read(outcome)
    except RecordError as error:
        return error


def _plan(experiments: Sequence[LoadedExperiment], kernel: CountedKernel, seeds: Sequence[int]) -> list[PlannedCase]:
    settings = Settings(kernel, seed=seeds[0])
    return [_counted(each, seeds) for each in plan(experiments, settings)]


def _counted(planned: PlannedCase, seeds: Sequence[int]) -> PlannedCase:
    """Return the case with counted trials in place of its own."""
    case = replace(planned.case, probes=_PROBES)
    if not planned.trials:
        return replace(planned, cases=(case,))
    source = planned.trials[0].source_sha256
    trials = tuple(trial_of(case, planned.kernel, planned.clock, seed, source) for seed in seeds)
    return replace(planned, cases=(case,), samples=tuple((seed, 0) for seed in seeds), trials=trials)


def _distinct(planned: Sequence[PlannedCase]) -> dict[tuple[str, str], list[PlannedCase]]:
    """Return the cases by their claim and by what runs, so that arms that differ only in probes are together."""
    found: dict[tuple[str, str], list[PlannedCase]] = {}
    for each in planned:
        case = each.case
        key = repr((case.network, case.workload, case.middleboxes, case.kernel))
        found.setdefault((case.claim, key), []).append(each)
    return found


def _label(planned: PlannedCase) -> str:
    return f"{planned.case.arm} {planned.case.point}".strip()


def _counts(
    planned: PlannedCase, ran: Sequence[Mapping[str, TrialCounts | LabError]]
) -> tuple[tuple[TrialCounts, ...], str]:
    """Return the counts of a case's trials, or none and the reason. Each repeat has its number."""
    if planned.skipped:
        return (), planned.skipped
    found = []
    for repeat, outcomes in enumerate(ran):
        for trial in planned.trials:
            outcome = outcomes[trial.address]
            if isinstance(outcome, LabError):
                return (), str(outcome)
            found.append(replace(outcome, repeat=repeat))
    return tuple(found), ""
