"""A figure of the long run leaves out its start by a rule, and shows whether what is left is steady."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import LabError
from lab.spec.steady import BATCH, BINS, Course, OverTime, Steady, mser
from lab.units import Duration


def course(begin: float, end: float, high_until: float) -> Course:
    """A figure that is 2 until a moment, and 1 from then on."""

    def between(start: float, last: float) -> float:
        high = max(0.0, min(last, high_until) - start)
        return 1 + high / (last - start)

    return Course(begin, end, "s", between)


def over(high_until: float, steady: Steady | None = None) -> OverTime:
    return OverTime(lambda _: course(0, 60, high_until), steady=steady)


def test_without_a_cut_the_start_is_in_the_mean() -> None:
    assert over(12)(None).number == pytest.approx(1.2)


def test_mser_cuts_what_differs_from_the_rest() -> None:
    assert over(12, Steady())(None).number == pytest.approx(1)
    assert over(0, Steady())(None).number == pytest.approx(1)


def test_a_fixed_time_is_cut_as_declared() -> None:
    assert over(12, Steady(Duration.of("6 s"), "a reason"))(None).number == pytest.approx(1 + 6 / 54)
    assert str(Steady(Duration.of("6 s"), "a reason")) == "after 6 s"
    with pytest.raises(ValueError, match="needs a reason"):
        Steady(Duration.of("6 s"))
    with pytest.raises(LabError, match=r"lasts 60 s, but 1 min should be cut"):
        over(12, Steady(Duration.of("60 s"), "a reason"))(None)


def test_halves_of_what_is_left_are_compared() -> None:
    assert over(12, Steady()).halves(None) == pytest.approx((1, 1))
    first, second = over(33, Steady(Duration.of("6 s"), "too little")).halves(None)
    assert (first, second) == pytest.approx((2, 1))


def test_times_of_its_own_make_no_long_run() -> None:
    timed = OverTime(lambda _: course(0, 60, 12), 0, 24)
    assert timed.is_timed
    assert timed(None).number == pytest.approx(1.5)


def test_mser_cuts_a_start_from_noise() -> None:
    """A start of a fifth of the run, at twice the level, beneath noise of a tenth: it is cut, and little else."""
    for seed in range(20):
        dice = Random(seed)
        values = [(2 if at < BINS // 5 else 1) + dice.gauss(0, 0.1) for at in range(BINS)]
        assert BINS // 5 // BATCH <= mser(values) < 2 * BINS // 5 // BATCH, seed


@given(st.lists(st.floats(-1e6, 1e6), min_size=BATCH, max_size=60))
def test_mser_cuts_half_at_most(values: list[float]) -> None:
    assert 0 <= mser(values) <= len(values) // BATCH // 2
