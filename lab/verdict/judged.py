"""Judge claims by records: those that `lab run` has just got, or those that a store holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lab import version
from lab.record.record import Record, RecordError
from lab.record.trial import FABRIC, Trial, canonical
from lab.spec.case import Case, CaseKey, Untestable
from lab.spec.clock import Clock
from lab.spec.loaded import LoadedExperiment
from lab.verdict import ClaimResult, Verdict, evaluate
from lab.verdict.forecast import forecast, forecast_by_law
from lab.verdict.predictions import Predictions

if TYPE_CHECKING:
    from lab.model import Scenario

__all__ = [
    "JudgedClaim",
    "asked_for",
    "inputs_of",
    "judge_records",
    "judge_stored",
    "predict_case",
    "scenario_of",
]

_NOTHING: Mapping[CaseKey, Verdict] = MappingProxyType({})


@dataclass(frozen=True)
class JudgedClaim:
    """A judged claim has its cases, its result, and the records that the result rests on."""

    declared: LoadedExperiment
    cases: tuple[Case, ...]
    result: ClaimResult
    records: tuple[Record, ...]
    kernel: Mapping[str, Any] | None  # as a trial describes it; None without a record

    @property
    def passed(self) -> bool:
        """Return whether nothing contradicts what is expected, and no prediction is further off than it may be.

        What this machine cannot measure well enough in real time, so that its interval straddles a bound, contradicts
        nothing. In virtual time no figure is uncertain, and the verdict has to be the expected one.
        """
        as_expected = self.result.verdict.kind == self.declared.experiment.expect
        return (as_expected or self._undecided_in_real_time()) and not self.result.model_is_off

    def _undecided_in_real_time(self) -> bool:
        clocks = {case.key: case.clock for case in self.cases}
        straddle = [each for each in self.result.results if each.verdict and each.verdict.kind == "inconclusive"]
        return self.result.verdict.kind == "inconclusive" and all(
            "real" in (self.result.clock, clocks[each.key]) for each in straddle if each.counts
        )


def judge_records(
    cases: Sequence[Case],
    records: Iterable[Record],
    kernel: Mapping[str, Any] | None,
    clock: Clock,
    predictions: Predictions,
    without: Mapping[CaseKey, Verdict] = _NOTHING,
    untestable: Sequence[Untestable] = (),
) -> ClaimResult:
    """Judge one claim on one kernel, described as in a trial.

    `without` is the verdict of a case that has no record; `untestable` are parts of the sentence that no trial can
    test. In virtual time the repeats of a trial must not differ by a byte: a case whose repeats do is invalid.
    """
    by_case: dict[CaseKey, list[Record]] = {}
    for record in records:
        by_case.setdefault(record.trial.key, []).append(record)
    differing = {name for name, records in by_case.items() if _differ(records)}
    chaos = Verdict("invalid", "the repeats of one trial differ: this kernel is not deterministic")
    return evaluate(
        cases,
        [record for name, repeats in by_case.items() if name not in differing for record in repeats],
        lambda case, prediction: predictions.of(case, prediction, scenario_of(case, kernel)),
        kernel["name"] if kernel else "",
        clock,
        {**without, **dict.fromkeys(differing, chaos)},
        untestable,
    )


def predict_case(case: Case, kernel: Mapping[str, Any], predictions: Predictions) -> None:
    """Make the predictions for a case, unless they are kept already, so that they are older than its trial.

    A mistake in one is left to judging, which says it.
    """
    if case.prediction is None:
        return
    with suppress(Exception):
        scenario = scenario_of(case, kernel)
        forecast(case, lambda _, prediction: predictions.of(case, prediction, scenario))
        forecast_by_law(case, lambda _, prediction: predictions.of(case, prediction, scenario))


def scenario_of(case: Case, kernel: Mapping[str, Any] | None) -> Scenario:
    """Return what the prediction of a case is about.

    Raises ModelError without a kernel, InputError without a path.
    """
    from lab.model import KernelTraits, ModelError, Scenario

    if kernel is None:
        raise ModelError("nothing was run, so there is no kernel to predict for")
    traits = KernelTraits.of(kernel)
    if case.kernel:
        patches = tuple(file.stem for file in case.kernel.patches)
        number = version.order(version.series(case.kernel.version))
        traits = replace(
            traits,
            version=number or traits.version,
            hz=case.kernel.hz or traits.hz,
            patches=patches or traits.patches,
        )
    return Scenario.of(case.network, case.path, traits, case.workload, case.middleboxes)


def judge_stored(
    experiments: Iterable[LoadedExperiment],
    records: Iterable[Record],
    folder: Path | None = None,
    kernel: str | None = None,
    clock: str | None = None,
) -> tuple[JudgedClaim, ...]:
    """Judge claims by those of these records that belong to the experiments as they stand.

    A run for `kernel` (name, version or id) on `clock` counts, with what it ran on the kernel's variants. Where none is
    named: of several kernels the newest, of several seeds the lowest (1 is the default), of several records of one
    trial the last one. Predictions are kept in `folder`.
    """
    by_claim: dict[str, list[Record]] = {}
    for record in records:
        try:
            if clock in (None, record.trial.clock):
                by_claim.setdefault(record.trial.claim, []).append(record)
        except RecordError:
            continue  # nothing says whose it is: its trial counts as not run
    return tuple(_judged(declared, by_claim.get(declared.id, ()), folder, kernel) for declared in experiments)


def _judged(
    declared: LoadedExperiment, records: Iterable[Record], folder: Path | None, asked: str | None
) -> JudgedClaim:
    cases = tuple(declared.cases())
    by_name = {case.key: case for case in cases}
    chosen = _chosen(by_name, _current(declared, by_name, records), asked)
    plainest = sorted((each.trial for each in chosen), key=lambda trial: _plainness(by_name[trial.key], trial))
    trial = next(iter(plainest), None)
    todo = Verdict("skipped", f"not run (run `lab run {declared.id}`)")
    missing = {case.key: todo for case in cases}
    kernel = _kernel(by_name[trial.key], trial) if trial else None
    predictions = Predictions(folder, declared.source_sha256, kernel["id"] if kernel else "")
    clock, untestable = trial.clock if trial else "virtual", declared.experiment.untestable
    result = judge_records(cases, chosen, kernel, clock, predictions, missing, untestable)
    return JudgedClaim(declared, cases, result, chosen, kernel)


def _current(declared: LoadedExperiment, cases: Mapping[CaseKey, Case], records: Iterable[Record]) -> list[Record]:
    """Return the records whose trial is one of these cases, unchanged."""
    is_current = asked_for(declared, cases)
    return [record for record in records if is_current(record.trial)]


def asked_for(declared: LoadedExperiment, cases: Mapping[CaseKey, Case]) -> Callable[[Trial], bool]:
    """Return what says of a trial whether it is one of the claim's cases as they stand, on whatever kernel and seed."""
    wanted = {key: inputs_of(case) for key, case in cases.items()}

    def is_current(trial: Trial) -> bool:
        same_file = trial.source_sha256 == declared.source_sha256
        return same_file and _has_its_variant(cases, trial) and wanted.get(trial.key) == inputs_of(trial)

    return is_current


def _has_its_variant(cases: Mapping[CaseKey, Case], trial: Trial) -> bool:
    case = cases.get(trial.key)
    return case is None or case.kernel is None or case.kernel.describes(trial.kernel)


def inputs_of(run: Case | Trial) -> bytes:
    """Return what is performed, but for kernel, clock and seed: it tells a case from one with another topology."""
    return canonical([run.network, run.workload, list(run.probes), list(run.middleboxes)])


def _chosen(cases: Mapping[CaseKey, Case], records: Sequence[Record], asked: str | None) -> tuple[Record, ...]:
    """Choose the run for one kernel, on one clock, with one fabric and seed: the last record of each of its trials.

    Trials on the kernel itself say which one a run was for, and those on its variants go with them.
    """

    def is_plain(record: Record) -> bool:
        return cases[record.trial.key].kernel is None

    def for_kernel(record: Record) -> str | None:
        kernel = record.trial.kernel
        return kernel.get("id") if is_plain(record) else kernel.get("base", kernel.get("id"))

    def setting(record: Record) -> tuple[str, bool, str]:
        return record.trial.on, record.trial.clock == cases[record.trial.key].clock, record.trial.fabric

    def is_of(best: Record, record: Record) -> bool:
        same = _has_own_tree(cases, record) or for_kernel(record) == for_kernel(best)
        return same and setting(record) == setting(best)

    named = [each for each in records if asked is None or asked in _names(cases[each.trial.key], each.trial)]
    if not named:
        return ()
    best = max(named, key=lambda each: (is_plain(each), not _has_own_tree(cases, each), *_rank(each)))
    having = [each for each in records if is_of(best, each)]
    seed = min(record.trial.seed for record in having)
    last: dict[tuple[CaseKey, int, int], Record] = {}
    for record in sorted(having, key=_age):
        trial = record.trial
        if trial.seed < seed + cases[trial.key].samples:
            last[trial.key, trial.seed, trial.repeat] = record
    return tuple(last.values())


def _has_own_tree(cases: Mapping[CaseKey, Case], record: Record) -> bool:
    """Say whether it ran on a tree of its own, whatever kernel the run was for."""
    variant = cases[record.trial.key].kernel
    return variant is not None and variant.tree is not None


def _names(case: Case, trial: Trial) -> list[str | None]:
    """Return what the kernel is called that the run was for."""
    ran, meant = trial.kernel, _kernel(case, trial)
    base = [ran["base"], version.series(ran["version"])] if case.kernel is not None and "base" in ran else []
    return [*base, *(meant.get(key) for key in ("name", "version", "id"))]


def _plainness(case: Case, trial: Trial) -> tuple[bool, bool, bool]:
    """Rank a trial by how well it shows the kernel and the clock that the run was for.

    One on a tree of its own does not, and in a run in virtual time some arms have real time of their own.
    """
    return bool(case.kernel and case.kernel.tree), case.kernel is not None, trial.clock != "virtual"


def _kernel(case: Case, trial: Trial) -> Mapping[str, Any]:
    """Return the kernel that the run was for: a trial of a case with a variant of its own ran on that instead."""
    kernel, variant = trial.kernel, case.kernel
    if variant is None or variant.tree or "base" not in kernel:
        return kernel
    plain = {"name": version.series(kernel["version"]), "version": kernel["version"], "hz": kernel["hz"]}
    return {**plain, "id": kernel["base"], "patches": []}


def _rank(record: Record) -> tuple[bool, bool, bool, bool, tuple[int, ...], int, tuple[float, str]]:
    """Rank a record by how likely a reader means it: virtual time, our own fabric, a kernel without patches that is no
    variant, the newest version, the lowest seed.
    """
    kernel = record.trial.kernel
    virtual, ours = record.trial.clock == "virtual", record.trial.fabric == FABRIC
    numbers = version.order(kernel.get("version", ""))
    is_usual = not kernel.get("patches"), "base" not in kernel
    return virtual, ours, *is_usual, numbers, -record.trial.seed, _age(record)


def _age(record: Record) -> tuple[float, str]:
    return record.folder.stat().st_mtime, record.address


def _differ(records: Iterable[Record]) -> bool:
    """Return whether repeats in virtual time, of one seed, differ in a byte."""
    outputs: dict[int, set[tuple[tuple[str, str], ...]]] = {}
    for record in records:
        if record.trial.clock == "virtual":
            found = tuple(sorted((name, each.sha256) for name, each in record.outputs.items()))
            outputs.setdefault(record.trial.seed, set()).add(found)
    return any(len(each) > 1 for each in outputs.values())
