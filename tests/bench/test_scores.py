"""What is counted, and how errors are distributed."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.draw import draw
from bench.scores import Score, Spread, Summary, silences, summaries
from lab.model import goodput_bulk, rtt_of_ping
from lab.spec.prediction import Prediction
from lab.units import Value
from lab.verdict import Result, Verdict

DRAWN = draw("2026-01-01", 1)


def bps(number: float | None) -> Value | None:
    return None if number is None else Value(number, "bit/s")


def score(
    predicted: float | None = 100,
    measured: float | None = 100,
    law: float | None = None,
    by: Prediction = goodput_bulk,
    why_not: str = "",
    verdict: Verdict | None = None,
) -> Score:
    result = Result("arm", "", None, bps(predicted), bps(measured), verdict, False, ())
    return Score(DRAWN, replaced(result, law=bps(law), prediction=by, why_not_predicted=why_not))


def replaced(result: Result, **changed: object) -> Result:
    return replace(result, **changed)  # type: ignore[arg-type]


def test_quantiles_are_errors_that_so_many_do_not_exceed() -> None:
    assert Spread.of(number / 100 for number in range(100, 0, -1)).quantiles == (0.5, 0.9, 0.95, 0.99, 1.0)
    assert Spread.of([0.3]).quantiles == (0.3,) * 5
    assert Spread.of([None]) == Spread(0, ())


@given(st.lists(st.floats(0, 10) | st.none(), min_size=1))
def test_quantiles_rise_to_the_largest_error(errors: list[float | None]) -> None:
    spread, known = Spread.of(errors), [error for error in errors if error is not None]
    assert spread.count == len(known)
    assert list(spread.quantiles) == sorted(spread.quantiles)
    assert (spread.quantiles[-1] == max(known)) if known else not spread.quantiles


def test_a_simulation_and_its_law_have_an_error_each() -> None:
    both = score(predicted=101, law=150)
    assert both.simulation == pytest.approx(0.01)
    assert both.law == pytest.approx(0.5)


def test_a_law_that_stands_alone_is_no_simulation() -> None:
    alone = score(predicted=103, by=rtt_of_ping)
    assert alone.simulation is None
    assert alone.law == pytest.approx(0.03)
    assert alone.missed


@pytest.mark.parametrize(
    ("predicted", "measured", "missed"),
    [(100.9, 100, False), (101.1, 100, True), (98.9, 100, True), (0, 0, False), (1, 0, True), (0, 1, True)],
)
def test_more_than_a_hundredth_is_a_miss(predicted: float, measured: float, missed: bool) -> None:
    assert score(predicted, measured).missed is missed


def test_what_should_be_zero_and_is_not_is_off_without_bounds() -> None:
    spread = Spread.of([score(1, 0).simulation])
    assert spread.quantiles[0] == inf
    assert spread.plain()["50 %"] is None  # JSON has no such number


def test_a_case_without_a_score_says_why() -> None:
    unanswered = score(None, why_not="the path loses frames")
    unmeasured = score(measured=None, verdict=Verdict("invalid", "the guest crashed"))
    scores = [score(), unanswered, unanswered, unmeasured]
    assert silences(scores) == [("the path loses frames", 2), ("invalid: the guest crashed", 1)]
    assert not any(each.missed for each in scores)
    summed = Summary.of("", scores)
    assert (summed.drawn, summed.answered, summed.simulation.count) == (4, 2, 1)


def test_a_prediction_that_fails_has_no_score_either() -> None:
    broken = score(None, None, verdict=Verdict("invalid", "TypeError: no"))
    assert broken.silence == "invalid: TypeError: no"


def test_groups_are_summed_up_by_their_names() -> None:
    scores = [score(101), score(102), score(None, why_not="no")]
    first, second = summaries(scores, lambda each: "answered" if each.answered else "silent")
    assert (first.name, first.drawn) == ("answered", 2)
    assert first.simulation.quantiles[-1] == pytest.approx(0.02)
    assert (second.name, second.drawn, second.simulation.quantiles) == ("silent", 1, ())
