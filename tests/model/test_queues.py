"""The laws of queues, against arithmetic done by hand and the figures of their sources."""

from __future__ import annotations

from itertools import islice
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import model
from lab.model import ModelError, codel, pie, red
from lab.units import Rate, Size
from tests.model.scenarios import hop, scenario

LEAST, MOST = Size(30_000), Size(90_000)


def test_codels_drops_come_sooner_and_sooner() -> None:
    """100 ms, then 100/sqrt(1), and 100/2 where RFC 8289, 5.5 has 100/sqrt(2): one step of Newton's from 1."""
    times = list(islice(codel.drop_times(), 4))
    assert times == pytest.approx([0.1, 0.2, 0.25, 0.25 + 0.05625])
    assert [codel.drops_within(seconds) for seconds in (0.05, 0.15, 0.24)] == [0, 1, 2]


def test_codels_drops_are_ahead_of_the_rfcs_by_a_quarter_of_an_interval() -> None:
    roots = list(islice(codel.inverse_roots(), 1000))
    exact = [1 / sqrt(number) for number in range(1, 1001)]
    assert roots[2:] == pytest.approx(exact[2:], rel=0.03)
    assert 0.25 < sum(exact) - sum(roots) < 0.26


@given(st.floats(1, 100))
def test_codels_drops_grow_with_the_square_of_time(seconds: float) -> None:
    """The sum of 1/sqrt(k) is 2 sqrt(n): n drops take about 2 sqrt(n) intervals."""
    assert 0.2 * sqrt(codel.drops_within(seconds)) == pytest.approx(seconds, abs=0.16)


def test_red_marks_between_its_thresholds() -> None:
    assert [red.marking_probability(average, LEAST, MOST, 0.1) for average in (29_999, 60_000, 90_000)] == [0, 0.05, 1]
    assert red.marked_share(60_000, LEAST, MOST, 0.1) == pytest.approx(0.1 / 1.05)


@given(st.floats(0, 200_000), st.floats(0, 200_000))
def test_a_longer_queue_is_never_marked_less(one: float, other: float) -> None:
    shares = [red.marked_share(average, LEAST, MOST, 0.3) for average in sorted((one, other))]
    assert 0 <= shares[0] <= shares[1] <= 1


def test_pie_drops_what_is_too_much() -> None:
    assert pie.drop_probability(Rate.of("12.5 Mbit/s"), Rate.of("10 Mbit/s")) == pytest.approx(0.2)
    assert pie.drop_probability(Rate.of("9 Mbit/s"), Rate.of("10 Mbit/s")) == 0


def test_the_products_of_a_path() -> None:
    path = scenario(hop("100 Mbit/s", "10 ms"), hop("100 Mbit/s", "30 ms"))
    assert model.bdp(path).number == pytest.approx(500_000)
    assert model.dctcp_threshold(path).number == pytest.approx(500_000 / 7)
    with pytest.raises(ModelError, match="no link of the path has a rate"):
        model.bdp(scenario(hop(None, "10 ms"), hop(None, "10 ms")))
