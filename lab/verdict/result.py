"""Evaluate one claim: every arm at every point, and the verdict on the whole claim."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from lab.errors import LabError
from lab.guest.clock import Clock
from lab.record.record import Record, by_case
from lab.spec.case import Case, CaseKey, Cause, Claimed, FigureKey, Untestable
from lab.spec.metric import described
from lab.spec.prediction import Prediction
from lab.units import UnitError, Value
from lab.verdict.forecast import Forecast, PredictCase, forecast, forecast_by_law
from lab.verdict.halves import disagreement
from lab.verdict.judge import JudgedTolerance, Verdict, combine, judge, model_error, sum_up
from lab.verdict.measured import KnownFigures
from lab.verdict.mistake import told
from lab.verdict.repeats import Repeats, is_enough
from lab.verdict.sample import Sample, independent
from lab.verdict.skill import skills

_NOT_RUN = Verdict("skipped", "not run")
_NO_FIGURES = Sample({})
_ALONE = "one trial does not show how far trials differ: --repeat 6 does"
_NOTHING: Mapping[CaseKey, Verdict] = MappingProxyType({})
_UNKNOWN: KnownFigures = MappingProxyType({})
_Taken = Callable[[Iterable[Record]], Sample]  # measures the records
_Standing = Literal["holds", "undecided", "off"]
_STANDINGS: Mapping[str, _Standing] = {"reproduced": "holds", "inconclusive": "undecided", "not reproduced": "off"}


@dataclass(frozen=True)
class Result:
    """A result is the outcome of one arm at one point."""

    arm: str
    point: str
    claimed: Claimed | None  # the article's figure, or one that its text implies
    predicted: Value | None
    measured: Value | None
    verdict: Verdict | None  # None if the claim has no figure
    counts: bool
    trials: tuple[str, ...]
    explains: Cause | None = None  # what the arm is a witness of
    bears_out: bool | None = None  # whether its figure supports that; None if it has no figure, or none was measured
    bound: str = ""  # the sign before a figure that is a bound: '≤ '
    why_not_predicted: str = ""
    # How far the prediction may be from the measurement; None if nothing is required of it: in real time, for which the
    # models have no answer.
    accuracy: JudgedTolerance | None = None
    prediction: Prediction | None = None  # the source of the predicted figure
    law: Value | None = None  # beside a simulation: the figure of its law
    why_no_law: str = ""
    predicted_at: str = ""  # the date since which the prediction has stood; "" if none was kept
    after_the_fact: bool = False  # whether a trial had started before that date
    instead: str = ""  # a kept prediction that differs from the model's figure
    sensitivities: tuple[tuple[str, float], ...] = ()  # input -> d ln predicted / d ln input
    prediction_failed: bool = False  # whether it, or the law beside it, raised an error that no model raises
    valid: int = 0  # how many of the repeats count,
    repeats: int = 0  # and how many were requested
    sample: Sample = _NO_FIGURES  # their figures, if they are enough
    unsteady: str = ""  # how the halves of a long run differ
    figure: str = ""  # its name in a study with several figures
    is_event: bool = False  # whether the figure of one trial is 1 for an event that happened, and 0 otherwise
    is_ratio: bool = False  # whether the figures are ratios of the arm's figures to those of another arm

    @property
    def key(self) -> CaseKey:
        """The key of the trials to which the result belongs."""
        return CaseKey(self.arm, self.point)

    @property
    def figure_key(self) -> FigureKey:
        """The key of the case to which the result belongs."""
        return FigureKey(self.arm, self.point, self.figure)

    @property
    def standing(self) -> _Standing | None:
        """The state of the prediction: it "holds" if the whole measured interval is within the declared accuracy.

        The prediction is "off" if no part of the interval is within the accuracy, and otherwise "undecided", so that
        noise does not excuse a wrong prediction. None if the prediction has no accuracy to meet.
        """
        if self.accuracy is None or self.predicted is None or self.measured is None:
            return None
        if self.predicted.unit != self.measured.unit:
            return "off"
        return _STANDINGS[judge(self.predicted, self.measured, self.accuracy).kind]

    @property
    def model_is_off(self) -> bool:
        """Whether the whole measured interval is further from the prediction than its declared accuracy."""
        return self.standing == "off"

    @property
    def model_error(self) -> float | None:
        """The error of the prediction, as `lab.verdict.judge.model_error` defines it."""
        return model_error(self.predicted, self.measured)

    @property
    def law_error(self) -> float | None:
        """The error of a simulation's law, defined in the same way as `model_error`."""
        return model_error(self.law, self.measured)

    @property
    def reported(self) -> Value | None:
        """The figure that the article prints; None if it prints no figure."""
        return self.claimed.value if self.claimed and self.claimed.word == "reported" else None

    @property
    def implied(self) -> Value | None:
        """The figure that follows from the article's text; None if no figure follows, or the article prints it."""
        return self.claimed.value if self.claimed and self.claimed.word == "implied" else None

    @property
    def unit(self) -> str | None:
        """The base unit of the result's figures: bit/s, s, B or 1; None without figures."""
        figures = (self.measured, self.predicted, self.reported, self.implied)
        return next((each.unit for each in figures if each), None)

    def plain(self) -> dict[str, Any]:
        """Return the result in the form of `lab run --json`: figures are numbers in the base unit, or null."""
        figures = {name: getattr(self, name) for name in ("reported", "implied", "predicted", "law", "measured")}
        return {
            "arm": self.arm,
            "point": self.point,
            "figure": self.figure,
            "part": self.claimed.part if self.claimed else "",
            **{name: value.number if value else None for name, value in figures.items()},
            "bound": self.bound.strip(),
            "unit": self.unit,
            **{name: getattr(self.measured, name, None) for name in ("low", "high", "coverage")},
            "valid": self.valid,
            "repeats": self.repeats,
            "sensitivities": dict(self.sensitivities) or None,
            "model_error": self.model_error,
            "standing": self.standing,
            "law_error": self.law_error,
            "prediction": self.prediction.name if self.prediction else None,
            "kind": self.prediction.kind if self.prediction else None,
            "why_not_predicted": self.why_not_predicted or None,
            "why_no_law": self.why_no_law or None,
            "predicted_at": self.predicted_at or None,
            "after_the_fact": self.after_the_fact,
            "verdict": self.verdict.kind if self.verdict else None,
            "counts": self.counts,
            "cause": self._cause(),
            "trials": list(self.trials),
        }

    def _cause(self) -> dict[str, Any] | None:
        if self.explains is None:
            return None
        return {
            "grade": self.explains.grade,
            "says": self.explains.says,
            "terms": self.explains.terms,
            "bears_out": self.bears_out,
        }


@dataclass(frozen=True)
class ClaimResult:
    """A claim's result is the answer from one kernel."""

    claim: str
    verdict: Verdict
    kernel: str
    clock: Clock
    results: tuple[Result, ...]
    parts: tuple[tuple[str, Verdict], ...] = ()  # of the sentence, by name; empty if it is judged as a whole
    is_study: bool = False  # whether there is no claim to judge

    @property
    def model_is_off(self) -> tuple[Result, ...]:
        """The results whose prediction misses its declared accuracy."""
        return tuple(result for result in self.results if result.model_is_off)

    @property
    def predictions(self) -> tuple[Prediction, ...]:
        """The predictions of the claim's figures and their laws."""
        asked = dict.fromkeys(result.prediction for result in self.results if result.prediction)
        return tuple(dict.fromkeys(each for asked in asked for each in (asked, asked.law) if each))

    @property
    def skills(self) -> Mapping[str, float]:
        """The skill of each prediction compared with a single figure for all arms, by the prediction's name."""
        return skills(self.results)

    def plain(self) -> dict[str, Any]:
        """Return the claim's result in the form of `lab run --json`."""
        return {
            "claim": self.claim,
            "verdict": self.verdict.kind,
            "reason": self.verdict.reason,
            "kernel": self.kernel,
            "clock": self.clock,
            "parts": [
                {"part": name, "verdict": verdict.kind, "reason": verdict.reason} for name, verdict in self.parts
            ],
            "results": [result.plain() for result in self.results],
            "predictions": [{**each.plain(), "skill": self.skills.get(each.name)} for each in self.predictions],
        }


def evaluate(
    cases: Sequence[Case],
    records: Iterable[Record],
    predict: PredictCase,
    kernel: str,
    clock: Clock,
    without: Mapping[CaseKey, Verdict] = _NOTHING,
    untestable: Sequence[Untestable] = (),
    known: KnownFigures = _UNKNOWN,
) -> ClaimResult:
    """Judge the cases of one claim with the records of their trials, all on one kernel and clock.

    `predict(case, prediction)` returns the forecast for the case, from its own prediction or from the law. A case
    without a record has the verdict that `without` holds for its key (for example "invalid", because its trial failed),
    or else is skipped. `untestable` are the parts of the sentence that no trial can test. Trials with `known` figures
    are not measured again.
    """
    found = by_case(records)
    figures = {}
    for case in cases:
        missing, real = without.get(case.key, _NOT_RUN), "real" in (case.clock, clock)
        taken = partial(Sample.of, case.metric, real=real, known=known.get(case.figure_key, {}))
        figures[case.figure_key] = _figures(case, found.get(case.key, []), predict, missing, taken)
    judged = {case.figure_key: _result(case, figures, clock) for case in cases}
    results = tuple(_borne_out(result, judged) for result in judged.values())
    parts = _parts(results, untestable)
    is_study = not untestable and not any(case.counts for case in cases)
    whole = _of_study(results) if is_study else parts[""] if "" in parts else sum_up(list(parts.items()))
    if whole.kind == "not testable as stated" and not any(result.measured for result in results):
        whole = combine([(_name(result), result.verdict) for result in results if result.verdict])
    named = tuple((name, verdict) for name, verdict in parts.items() if name)
    return ClaimResult(cases[0].claim, whole, kernel, clock, results, named, is_study)


def _parts(results: Sequence[Result], untestable: Sequence[Untestable]) -> dict[str, Verdict]:
    """Judge each part of the sentence with all arms that test the part; '' stands for a sentence without parts."""
    arms: dict[str, list[tuple[str, Verdict]]] = {}
    for result in results:
        if result.counts and result.claimed and result.verdict:
            arms.setdefault(result.claimed.part, []).append((_name(result), result.verdict))
    parts = {part: combine(verdicts) for part, verdicts in arms.items()}
    return {**parts, **{each.part: Verdict("not testable as stated", each.because) for each in untestable}}


def _of_study(results: Sequence[Result]) -> Verdict:
    """Return "measured", or the worst verdict on a figure that could not be measured."""
    missing = [(_name(result), result.verdict) for result in results if result.verdict]
    return combine(missing) if missing else Verdict("measured", "a study judges no claim")


def _borne_out(result: Result, results: Mapping[FigureKey, Result]) -> Result:
    """Return a witness's result, with a flag that tells whether its figure supports its explanation.

    A figure that is not reproduced supports a refutation. A figure between the figures of two other arms supports an
    explanation `between` these arms. A reproduced figure supports any other explanation.
    """
    cause = result.explains
    if cause is None or result.claimed is None or result.measured is None or result.verdict is None:
        return result
    if cause.grade == "refutes":
        return replace(result, bears_out=result.verdict.kind == "not reproduced")
    ends = [results[FigureKey(arm, result.point, result.figure)].measured for arm in cause.between]
    known = sorted(each.number for each in ends if each)
    if ends:
        inside = len(known) == len(ends) and known[0] <= result.claimed.value.number <= known[-1]
        return replace(result, bears_out=inside)
    return replace(result, bears_out=result.verdict.kind == "reproduced")


@dataclass(frozen=True)
class _Figures:
    trials: tuple[str, ...]
    predicted: Forecast
    law: Forecast
    sample: Sample
    missing: Verdict | None  # why nothing was measured
    valid: int = 0
    repeats: int = 0
    missed: str = ""  # why fewer repeats count than were requested
    after_the_fact: bool = False  # whether the prediction, or the law beside it, is younger than a trial
    unsteady: str = ""  # how the halves of a long run differ

    def relative_to(self, base: _Figures) -> _Figures:
        """Return the ratios of these figures to the figures of `base`. Raises UnitError if the units differ."""
        sample, repeats, missing = self.sample.over(base.sample), min(self.repeats, base.repeats), None
        if not is_enough(len(sample.figures), repeats):
            missing = Verdict("invalid", f"{len(sample.figures)} of {repeats} repeats count in both arms")
        elif sample.without_ratio:
            missing = Verdict("invalid", sample.without_ratio)
        return _Figures(
            (*base.trials, *self.trials),
            self.predicted.over(base.predicted),
            self.law.over(base.law),
            sample,
            self.missing or base.missing or missing,
            len(sample.figures),
            repeats,
            self.missed or base.missed,
            self.after_the_fact or base.after_the_fact,
            self.unsteady or base.unsteady,
        )


def _figures(case: Case, records: Sequence[Record], predict: PredictCase, without: Verdict, taken: _Taken) -> _Figures:
    predicted, law, sample = Forecast(), Forecast(), _NO_FIGURES
    missing, repeats, late, unsteady = None if records else without, Repeats((), (), 0), False, ""
    try:
        predicted, law = forecast(case, predict), forecast_by_law(case, predict)
        late = any("" < record.started < max(predicted.made, law.made) for record in records)
        if missing is None:
            repeats = Repeats.of(independent(records), case.samples)
            if repeats.are_enough:
                sample = taken(repeats.valid)
                unsteady = disagreement(case, repeats.valid)
            else:
                missing = Verdict("invalid", str(repeats))
    except LabError as error:
        missing = Verdict("invalid", str(error))
    except Exception as error:  # noqa: BLE001  # an output may hold anything, and an experiment's metric may raise anything
        missing = Verdict("invalid", told("metric", case.metric, error))
    return _Figures(
        trials=tuple(record.address for record in records),
        predicted=predicted,
        law=law,
        sample=sample,
        missing=missing,
        valid=len(repeats.valid),
        repeats=repeats.asked,
        missed=str(repeats),
        after_the_fact=late,
        unsteady=unsteady,
    )


def _result(case: Case, figures: Mapping[FigureKey, _Figures], clock: Clock) -> Result:
    found = figures[case.figure_key]
    verdict, measured = found.missing, None
    try:
        if case.relative_to:
            found = found.relative_to(figures[FigureKey(case.relative_to, case.point, case.figure)])
            verdict = found.missing
        measured = None if found.missing else found.sample.estimate
        if measured is not None and case.claimed is not None and case.tolerance is not None:
            verdict = judge(case.claimed.value, measured, case.tolerance, case.claimed.word, found.sample.beyond)
            if found.unsteady:
                verdict = Verdict("inconclusive", f"{verdict.reason}: {found.unsteady}")
            alone = _ALONE if found.sample.is_alone else ""
            if said := "; ".join(filter(None, (found.missed, found.sample.uncertain, alone))):
                kind = "inconclusive" if alone else verdict.kind
                verdict = replace(verdict, kind=kind, reason=f"{verdict.reason} ({said})")
    except UnitError as error:
        verdict = Verdict("invalid", str(error))
    return Result(
        arm=case.arm,
        point=case.point,
        figure=case.figure,
        claimed=case.claimed,
        predicted=found.predicted.value,
        measured=measured,
        verdict=verdict,
        counts=case.counts,
        trials=found.trials,
        explains=case.explains,
        bound=case.tolerance.sign if case.claimed and case.tolerance else "",
        why_not_predicted=found.predicted.why_not,
        accuracy=case.accuracy if case.clock == clock == "virtual" else None,
        prediction=case.prediction,
        law=found.law.value,
        why_no_law=found.law.why_not,
        predicted_at=found.predicted.made,
        after_the_fact=found.after_the_fact,
        instead=found.predicted.instead or found.law.instead,
        sensitivities=found.predicted.sensitivities,
        prediction_failed=found.predicted.failed or found.law.failed,
        valid=found.valid,
        repeats=found.repeats,
        sample=found.sample,
        unsteady=found.unsteady,
        is_event=not case.relative_to and described(case.metric).statistic == "event",
        is_ratio=bool(case.relative_to),
    )


def _name(result: Result) -> str:
    name = f"{result.arm} at {result.point}" if result.point else result.arm
    return f"{name}, {result.figure}" if result.figure else name
