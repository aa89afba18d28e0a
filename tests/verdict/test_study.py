"""A study is measured if every figure was measured; no figure is compared with a claim."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from lab.guest.key import CaseKey
from lab.units import Value
from lab.verdict import ClaimResult, Kind, Verdict, evaluate
from lab.verdict.forecast import Forecast
from tests.verdict.cases import bps, case, value_of

GOODPUT, DELAY = "goodput", "delay"


@dataclass
class _Trial:
    key: CaseKey
    seed: int
    clock: str = "virtual"
    repeat: int = 0


@dataclass
class _Record:
    trial: _Trial
    value: Value
    address: str = "a" * 64
    started: str = ""
    invalid: tuple[str, ...] = ()


def seconds(record: _Record) -> Value:
    return Value(record.value.number / 1000, "s")


def judged(values: list[float], **without: Verdict) -> ClaimResult:
    common = {"claimed": None, "tolerance": None, "accuracy": None, "samples": len(values), "prediction": None}
    arms = [
        case(arm, figure=name, metric=metric, **common)
        for arm in ("one", "two")
        for name, metric in ((GOODPUT, value_of), (DELAY, seconds))
    ]
    records = [
        _Record(_Trial(CaseKey(arm, ""), seed), bps(value))
        for arm in ("one", "two")
        if arm not in without
        for seed, value in enumerate(values)
    ]
    missing = {CaseKey(arm, ""): verdict for arm, verdict in without.items()}
    return evaluate(arms, records, lambda *_: Forecast(), "7.2", "virtual", missing)  # type: ignore[arg-type]


def test_each_trial_gives_every_figure() -> None:
    result = judged([90, 100, 110])
    assert (result.verdict.kind, result.is_study) == ("measured", True)
    figures = [(each.arm, each.figure, each.measured and each.measured.unit) for each in result.results]
    assert figures == [("one", GOODPUT, "bit/s"), ("one", DELAY, "s"), ("two", GOODPUT, "bit/s"), ("two", DELAY, "s")]
    assert {each.valid for each in result.results} == {3}
    first = result.results[0].measured
    assert first
    assert first.bounds[0] < 100 < first.bounds[1]


def test_a_claim_of_which_only_an_arm_without_figure_is_shown_is_no_study() -> None:
    arms = [case("one"), case("two", claimed=None)]
    records = [_Record(_Trial(CaseKey(arm, ""), 1), bps(100)) for arm in ("one", "two")]
    result = evaluate(arms, records, lambda *_: Forecast(), "7.2", "virtual")  # type: ignore[arg-type]
    assert not replace(result, results=result.results[1:]).is_study


def test_no_figure_counts_or_has_a_verdict() -> None:
    assert [(each.counts, each.verdict, each.standing) for each in judged([1]).results] == [(False, None, None)] * 4


@pytest.mark.parametrize("kind", ["invalid", "skipped"])
def test_a_missing_figure_is_named(kind: Kind) -> None:
    result = judged([1], two=Verdict(kind, "no luck"))
    assert result.verdict.kind == kind
    assert "two, goodput: no luck" in result.verdict.reason
