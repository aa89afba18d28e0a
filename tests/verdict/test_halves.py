"""A figure of the long run whose halves disagree is inconclusive, and says so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lab.spec.case import CaseKey
from lab.spec.experiment import AtMost, Implied, Within
from lab.spec.steady import Course, OverTime, Steady
from lab.units import Duration
from lab.verdict.halves import disagreement
from lab.verdict.result import evaluate
from tests.verdict.cases import case

ALL = Steady(Duration(0), "what is left is what the record says")
TENTH = Within(0.1, because="a digit")


def long_run(*halves: tuple[float, float], claimed: float = 1.0, **changed: Any) -> tuple[Any, list[Any]]:
    """A case, and a record for each seed: its figure in the first half and in the second."""

    def course(record: Any) -> Course:
        first, second = record.halves

        def between(start: float, end: float) -> float:
            early = max(0.0, min(end, 1.0) - start)
            return float((first * early + second * (end - start - early)) / (end - start))

        return Course(0, 2, "1", between)

    given = {"tolerance": TENTH, "claimed": Implied(claimed, "so"), "prediction": None, **changed}
    measured = case(metric=OverTime(course, steady=ALL), samples=len(halves), **given)
    records = [
        SimpleNamespace(
            trial=SimpleNamespace(key=CaseKey("baseline"), clock="virtual", seed=seed, repeat=0),
            halves=each,
            invalid=(),
            address=str(seed),
            outputs={},
            started="",
        )
        for seed, each in enumerate(halves, 1)
    ]
    return measured, records


def verdict(*halves: tuple[float, float], claimed: float = 1.0, **changed: Any) -> Any:
    measured, records = long_run(*halves, claimed=claimed, **changed)
    return evaluate([measured], records, lambda *_: None, "kernel", "virtual").verdict  # type: ignore[arg-type]


def test_halves_that_agree_leave_the_verdict() -> None:
    assert verdict((1.01, 0.99), (0.99, 1.01), (1, 1)).kind == "reproduced"


def test_a_start_that_was_not_cut_makes_it_inconclusive() -> None:
    """As PIE's whole minute: 25 ms in the first half and 15 in the second, for a target of 15."""
    found = verdict((25, 15), (25.1, 15.1), (24.9, 14.9), claimed=15)
    assert found.kind == "inconclusive"
    assert "the second half of the long run differs by -50 % from the first; 5 % is allowed" in found.reason


def test_what_noise_makes_of_halves_is_no_drift() -> None:
    assert verdict((0.95, 1.05), (1.05, 0.95), (1.03, 0.97), (0.97, 1.03)).kind == "reproduced"


def test_a_narrow_tolerance_allows_a_narrow_drift() -> None:
    one = Within(0.01, because="a hundredth")
    assert verdict((1.02, 0.98), (1.021, 0.981), (1.019, 0.979), tolerance=one).kind == "inconclusive"


def test_one_seed_is_judged_by_its_difference() -> None:
    assert verdict((1.2, 1.0)).kind == "inconclusive"
    assert verdict((1.02, 1.0)).kind == "reproduced"


def test_halves_that_are_both_far_out_need_not_agree() -> None:
    assert verdict((2.0, 1.8), (2.01, 1.81)).kind == "not reproduced"
    assert verdict((1.6, 1.2), (1.61, 1.21)).kind == "inconclusive", "as much again, and it would agree"


def test_halves_that_are_both_within_a_bound_need_not_agree() -> None:
    bound = AtMost(because="a bound")
    assert verdict((0.8, 0.5), (0.81, 0.51), tolerance=bound).kind == "reproduced"
    assert verdict((0.5, 0.8), (0.51, 0.81), tolerance=bound).kind == "inconclusive", "as much again, and it is beyond"


@pytest.mark.parametrize("steady", [None, ALL])
def test_only_a_figure_of_the_long_run_has_halves(steady: Steady | None) -> None:
    measured, records = long_run((2, 1))
    metric = OverTime(measured.metric.course, steady=steady)
    assert bool(disagreement(case(metric=metric, claimed=measured.claimed, tolerance=TENTH), records)) == bool(steady)
