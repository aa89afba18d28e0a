"""Judge claims with records from a run that has just ended, or from a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lab.base import version
from lab.guest.clock import Clock
from lab.guest.trial import FABRIC, Trial, canonical
from lab.record.record import Record, RecordError, by_case
from lab.spec.case import Case, CaseKey, FigureKey, Untestable
from lab.spec.loaded import LoadedExperiment
from lab.spec.prediction import Prediction
from lab.units import Value
from lab.verdict import ClaimResult, Kind, Verdict, evaluate
from lab.verdict.forecast import Forecast, forecast, forecast_by_law
from lab.verdict.measured import KnownFigures, MeasuredClaims
from lab.verdict.predictions import Predictions

if TYPE_CHECKING:
    from lab.model import Scenario

_NOTHING: Mapping[CaseKey, Verdict] = MappingProxyType({})
_KEEPS_NONE = Predictions(None, "", "")
_UNKNOWN: KnownFigures = MappingProxyType({})
_NOT_MEASURED: MeasuredClaims = MappingProxyType({})


@dataclass(frozen=True)
class JudgedClaim:
    """A judged claim has its cases, its result, and the records on which the result rests."""

    declared: LoadedExperiment
    cases: tuple[Case, ...]
    result: ClaimResult
    records: tuple[Record, ...]
    kernel: Mapping[str, Any] | None  # as in a trial; None without a record
    predictions: Predictions = _KEEPS_NONE  # the store of the result's predictions

    def forecast(self, case: Case, scenario: Scenario) -> Forecast:
        """Return a case's prediction for another scenario, for example between two points of a sweep.

        The store keeps the prediction, like those of the cases' own scenarios. Raises the errors of `Predictions.of`.
        """
        return self.predictions.of(case, case.prediction, scenario) if case.prediction else Forecast()

    @property
    def figures(self) -> KnownFigures:
        """The measured figures of the trials, by case and then by the trial's address."""
        found: dict[FigureKey, dict[str, Value]] = {}
        for case, result in zip(self.cases, self.result.results, strict=True):
            own = {
                each.address: result.sample.own_figure_of(each) for each in self.records if each.trial.key == case.key
            }
            found[case.figure_key] = {trial: figure for trial, figure in own.items() if figure}
        return found

    @property
    def expected(self) -> tuple[Kind, ...]:
        """The verdicts that the claim expects of these trials.

        With other seeds than the first, the verdict may also be one of `other_seeds`, and in real time one of
        `other_machines`.
        """
        declared = self.declared.experiment
        seeds = declared.other_seeds if self._has_other_seeds() else ()
        machines = declared.other_machines if self._counts_in_real_time() else ()
        return (declared.expect, *seeds, *machines)

    @property
    def as_expected(self) -> bool:
        """Whether the verdict does not contradict the expectation.

        In real time, a figure whose interval straddles a bound contradicts nothing, because this machine cannot measure
        the figure precisely enough. In virtual time, no figure is uncertain.
        """
        return self.result.verdict.kind in self.expected or self._undecided_in_real_time()

    @property
    def passed(self) -> bool:
        """Whether the verdict is as expected, no prediction has failed, and the predictions that miss their accuracy
        are exactly the ones that are known to miss.
        """
        failed = any(each.prediction_failed for each in self.result.results)
        return self.as_expected and not (self._surprising_models or failed)

    @property
    def known_misses(self) -> Mapping[str, str]:
        """The arms whose predictions are known to miss their accuracy, and the reason for each."""
        return {miss.arm: miss.because for miss in self.declared.experiment.misses}

    def _has_other_seeds(self) -> bool:
        sampled = {case.key for case in self.cases if case.samples > 1}
        return all(record.trial.seed > 1 for record in self.records if record.trial.key in sampled)

    def _counts_in_real_time(self) -> bool:
        counted = {each.key for each in self.result.results if each.counts}
        return any(record.trial.clock == "real" and record.trial.key in counted for record in self.records)

    @property
    def _surprising_models(self) -> bool:
        off = {each.arm for each in self.result.model_is_off}
        held = {each.arm for each in self.result.results if each.standing == "holds"} - off
        return bool(off - self.known_misses.keys() or held & self.known_misses.keys())

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
    known: KnownFigures = _UNKNOWN,
) -> ClaimResult:
    """Return the result of one claim on one kernel. The kernel's description has the same form as in a trial.

    `without` holds the verdicts of cases without a record. `untestable` lists parts of the sentence that no trial can
    test. Trials with `known` figures are not measured again. In virtual time, all repeats of a trial must be identical
    byte for byte; otherwise, the case is invalid.
    """
    found = by_case(records)
    differing = {name for name, repeats in found.items() if _differ(repeats)}
    chaos = Verdict("invalid", "the repeats of one trial differ: this kernel is not deterministic")
    return evaluate(
        cases,
        [record for name, repeats in found.items() if name not in differing for record in repeats],
        lambda case, prediction: _predicted(case, prediction, kernel, predictions),
        kernel["name"] if kernel else "",
        clock,
        {**without, **dict.fromkeys(differing, chaos)},
        untestable,
        known,
    )


def _predicted(
    case: Case, prediction: Prediction, kernel: Mapping[str, Any] | None, predictions: Predictions
) -> Forecast:
    """Return the stored forecast of a prediction, with its sensitivity to each input."""
    from lab.model.sensitivity import sensitivities

    scenario = scenario_of(case, kernel)
    found = predictions.of(case, prediction, scenario)
    return replace(found, sensitivities=tuple(sensitivities(prediction, scenario).items())) if found.value else found


def predict_case(case: Case, kernel: Mapping[str, Any], predictions: Predictions) -> None:
    """Compute and store a case's predictions before its trial, unless they are already stored.

    This function ignores errors, because `judge_records` reports them.
    """
    if case.prediction is None:
        return
    with suppress(Exception):
        scenario = scenario_of(case, kernel)
        forecast(case, lambda _, prediction: predictions.of(case, prediction, scenario))
        forecast_by_law(case, lambda _, prediction: predictions.of(case, prediction, scenario))


def scenario_of(case: Case, kernel: Mapping[str, Any] | None) -> Scenario:
    """Return the scenario of a case's prediction.

    Raises ModelError without a kernel, and InputError without a path.
    """
    from lab.model import KernelTraits, ModelError, Scenario

    if kernel is None:
        raise ModelError("no trial was run, so there is no kernel to predict for")
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
    measured: MeasuredClaims = _NOT_MEASURED,
) -> tuple[JudgedClaim, ...]:
    """Judge claims from the records that belong to the current experiments.

    The records come from a run for `kernel` (name, version or id) on `clock`, including trials on variants of the
    kernel. Defaults: the newest of several kernels, the lowest of several seeds (1 is the first), and the last of
    several records of one trial. Records are in the order of the cases, then of seeds and repeats. The predictions are
    stored in `folder`. Trials whose figures are in `measured` are not measured again.
    """
    wanted = tuple(experiments)
    by_claim: dict[str, list[Record]] = {each.id: [] for each in wanted}
    for record in records:
        try:
            if record.claim in by_claim and clock in (None, record.trial.clock):
                by_claim[record.trial.claim].append(record)
        except RecordError:
            continue  # its claim is unknown, so its trial counts as not run
    return tuple(_judged(each, by_claim[each.id], folder, kernel, measured) for each in wanted)


def _judged(
    declared: LoadedExperiment,
    records: Iterable[Record],
    folder: Path | None,
    asked: str | None,
    measured: MeasuredClaims,
) -> JudgedClaim:
    cases = tuple(declared.cases())
    by_name = {case.key: case for case in cases}
    is_current = asked_for(declared, by_name)
    chosen = _chosen(by_name, [record for record in records if is_current(record.trial)], asked)
    plainest = sorted((each.trial for each in chosen), key=lambda trial: _plainness(by_name[trial.key], trial))
    trial = next(iter(plainest), None)
    command = f"lab run {declared.id}" + (f" --kernel {asked}" if asked else "")
    todo = Verdict("skipped", f"not run (run `{command}`)")
    missing = {case.key: todo for case in cases}
    kernel = _kernel(by_name[trial.key], trial) if trial else None
    predictions = Predictions(folder, declared.source_sha256, kernel["id"] if kernel else "")
    clock, untestable = trial.clock if trial else "virtual", declared.experiment.untestable
    known = measured.get((declared.id, declared.source_sha256), _UNKNOWN)
    result = judge_records(cases, chosen, kernel, clock, predictions, missing, untestable, known)
    return JudgedClaim(declared, cases, result, chosen, kernel, predictions)


def asked_for(declared: LoadedExperiment, cases: Mapping[CaseKey, Case]) -> Callable[[Trial], bool]:
    """Return a function that tells whether a trial belongs to a current case of the claim, on any kernel and seed."""

    @cache
    def wanted(key: CaseKey, seed: int) -> bytes | None:
        return inputs_of(cases[key], seed) if key in cases else None

    def is_current(trial: Trial) -> bool:
        same_file = trial.source_sha256 == declared.source_sha256
        return same_file and _has_its_variant(cases, trial) and wanted(trial.key, trial.seed) == inputs_of(trial)

    return is_current


def _has_its_variant(cases: Mapping[CaseKey, Case], trial: Trial) -> bool:
    case = cases.get(trial.key)
    return case is None or case.kernel is None or case.kernel.describes(trial.kernel)


def inputs_of(run: Case | Trial, seed: int = 0) -> bytes:
    """Return a run's inputs except kernel, clock and seed.

    These inputs distinguish a case from the same case with a changed topology. A case may draw its network from the
    seed.
    """
    network = run.network_of(seed) if isinstance(run, Case) else run.network
    return canonical([network, run.workload, list(run.probes), list(run.middleboxes)])


def _chosen(cases: Mapping[CaseKey, Case], records: Sequence[Record], asked: str | None) -> tuple[Record, ...]:
    """Return the last record of each trial in the run for one kernel, on one clock, with one fabric and seed.

    The trials on the kernel itself decide which kernel the run was for. Trials on its variants belong to the same run.
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
    places = {key: place for place, key in enumerate(cases)}  # the experiment's order, whichever trial ended first
    return tuple(last[each] for each in sorted(last, key=lambda each: (places[each[0]], *each[1:])))


def _has_own_tree(cases: Mapping[CaseKey, Case], record: Record) -> bool:
    """Return whether the case has its own tree, independent of the run's kernel."""
    variant = cases[record.trial.key].kernel
    return variant is not None and variant.tree is not None


def _names(case: Case, trial: Trial) -> list[str | None]:
    """Return the names of the kernel that the run was for."""
    ran, meant = trial.kernel, _kernel(case, trial)
    base = [ran["base"], version.series(ran["version"])] if case.kernel is not None and "base" in ran else []
    return [*base, *(meant.get(key) for key in ("name", "version", "id"))]


def _plainness(case: Case, trial: Trial) -> tuple[bool, bool, bool]:
    """Return a sort key that ranks trials by how reliably they identify the run's kernel and clock.

    A trial on its own tree does not identify the kernel. In a virtual-time run, some arms may use real time.
    """
    return bool(case.kernel and case.kernel.tree), case.kernel is not None, trial.clock != "virtual"


def _kernel(case: Case, trial: Trial) -> Mapping[str, Any]:
    """Return the kernel that the run was for. A trial of a case with its own variant ran on that variant instead."""
    kernel, variant = trial.kernel, case.kernel
    if variant is None or variant.tree or "base" not in kernel:
        return kernel
    plain = {"name": version.series(kernel["version"]), "version": kernel["version"], "hz": kernel["hz"]}
    return {**plain, "id": kernel["base"], "patches": []}


def _rank(record: Record) -> tuple[bool, bool, bool, bool, tuple[int, ...], int, tuple[float, str]]:
    """Return a sort key that ranks records by how likely a reader means them.

    The key prefers virtual time, the lab's own fabric, a kernel without patches that is not a variant, the newest
    version, and the lowest seed.
    """
    kernel = record.trial.kernel
    virtual, ours = record.trial.clock == "virtual", record.trial.fabric == FABRIC
    numbers = version.order(kernel.get("version", ""))
    is_usual = not kernel.get("patches"), "base" not in kernel
    return virtual, ours, *is_usual, numbers, -record.trial.seed, _age(record)


def _age(record: Record) -> tuple[float, str]:
    return record.folder.stat().st_mtime, record.address


def _differ(records: Iterable[Record]) -> bool:
    """Return whether virtual-time repeats with equal seeds differ in any byte."""
    outputs: dict[int, set[tuple[tuple[str, str], ...]]] = {}
    for record in records:
        if record.trial.clock == "virtual":
            found = tuple(sorted((name, each.sha256) for name, each in record.outputs.items()))
            outputs.setdefault(record.trial.seed, set()).add(found)
    return any(len(each) > 1 for each in outputs.values())
