"""How figures become points, and points a score."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.ext.cc.scale import Scale, Score, by_case, by_criterion
from lab.units import UnitError, Value

SHARE = Scale(Value(0, "1"), Value(0.8, "1"), "because")
DELAY = Scale(None, Value(0, "s"), "because")
finite = st.floats(-1e9, 1e9)


@pytest.mark.parametrize(("figure", "points"), [(0, 0), (0.2, 25), (0.4, 50), (0.8, 100), (0.9, 100), (-1, 0)])
def test_points_are_the_place_on_the_scale(figure: float, points: float) -> None:
    assert SHARE.points(Value(figure, "1"), None) == pytest.approx(points)


def test_a_scale_may_start_at_the_full_buffer() -> None:
    assert DELAY.points(Value(0.05, "s"), Value(0.2, "s")) == pytest.approx(75)
    with pytest.raises(UnitError, match="no buffer"):
        DELAY.points(Value(0.05, "s"), None)


def test_a_figure_of_another_unit_is_refused() -> None:
    with pytest.raises(UnitError, match="the figure is in s"):
        SHARE.points(Value(1, "s"), None)


@given(finite, finite)
def test_more_is_never_worse_on_a_rising_scale(one: float, other: float) -> None:
    low, high = (SHARE.points(Value(each, "1"), None) for each in sorted((one, other)))
    assert 0 <= low <= high <= 100


def test_two_weightings_differ_where_criteria_have_different_numbers_of_cases() -> None:
    points = {"queue": [(100.0,)], "loss": [(0.0,), (0.0,), (0.0,)]}
    assert by_case(points).points == 25
    assert by_criterion(points).points == 50


def test_a_score_of_several_seeds_has_an_interval_of_the_seeds_means() -> None:
    score = by_case({"queue": [(40.0, 60.0), (60.0, 40.0)]})
    assert score == Score(50, 50, 50, score.coverage), "each seed's mean is 50"
    wide = by_case({"queue": [(40.0, 60.0, 50.0)]})
    assert wide.low is not None
    assert wide.high is not None
    assert wide.low < 50 < wide.high
    assert by_case({"queue": [(40.0,)]}) == Score(40)
