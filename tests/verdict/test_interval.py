"""Intervals hold the true figure as often as they say, whatever the distribution."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.verdict import interval
from tests.verdict.coverage import DISTRIBUTIONS, SIZES, coverage, intervals

STATISTICS = Path(__file__).parents[2] / "docs" / "statistics.md"


@pytest.mark.parametrize(
    ("freedom", "bound"), [(1, 12.7062), (2, 4.3027), (5, 2.5706), (9, 2.2622), (29, 2.0452), (120, 1.9799)]
)
def test_students_bound_is_that_of_the_tables(freedom: int, bound: float) -> None:
    assert interval.student(freedom) == pytest.approx(bound, abs=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_an_interval_covers_what_it_says(name: str, size: int) -> None:
    """1,000 samples each: a share of them is known to 1.9 points."""
    assert coverage(name, size, runs=1000)["verdict"] >= interval.covers(size) - 0.019


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES)
def test_what_it_says_is_the_least_of_all_to_a_point(size: int) -> None:
    assert coverage("lognormal (1)", size)["verdict"] == pytest.approx(interval.covers(size), abs=0.01)


@pytest.mark.long
def test_the_documentation_has_this_table() -> None:
    rows = [line.strip("| \n").split(" | ") for line in STATISTICS.read_text().splitlines() if line.startswith("|")]
    found = {row[0]: [float(each.split()[0]) / 100 for each in row[1:]] for row in rows if row[0] in DISTRIBUTIONS}
    assert found.keys() == DISTRIBUTIONS.keys()
    for name, shares in found.items():
        for size, share in zip(SIZES, shares, strict=True):
            assert coverage(name, size, runs=1000)["verdict"] == pytest.approx(share, abs=0.025), (name, size)


@pytest.mark.parametrize("size", [3, 6, 10])
def test_the_simulation_is_of_the_code_that_judges(size: int) -> None:
    figures = np.random.default_rng(1).lognormal(0, 1, (5, size))
    for row, low, high in zip(figures, *intervals(figures), strict=True):
        assert interval.mean(list(row), [1.0] * size) == pytest.approx((low, high), rel=1e-9)


def test_the_same_figures_have_the_same_interval() -> None:
    figures = [1.0, 2.0, 5.0, 3.0, 2.5, 9.0]
    assert interval.mean(figures, [1.0] * 6) == pytest.approx((0.7130, 11.4295), abs=1e-4)


@pytest.mark.long
def test_the_ratio_of_two_means_is_covered() -> None:
    """Ten pairs that share their moment's factor: a mean of ratios would be 5 % too large here."""
    chance, held, runs = random.Random(1), 0, 200
    for _ in range(runs):
        bases = [chance.lognormvariate(0, 0.3) for _ in range(10)]
        figures = [2 * base * chance.uniform(0.8, 1.2) for base in bases]
        low, high = interval.mean(figures, bases)
        held += low <= 2 <= high
    assert held / runs >= interval.covers(10)


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=12))
def test_a_mean_is_within_its_interval_and_further_bounds_are_less_likely(figures: list[int]) -> None:
    low, high = interval.mean(figures, [1.0] * len(figures))
    centre = sum(figures) / len(figures)
    assert low <= centre + 1e-6
    assert centre - 1e-6 <= high
    if len(set(figures)) > 1:
        near, far = (interval.mean_beyond(figures, [1.0] * len(figures), high + each) for each in (0, 5 * (high - low)))
        assert far <= near


@pytest.mark.parametrize(
    ("count", "skipped", "held"), [(3, 0, 0.75), (6, 0, 0.96875), (10, 1, 0.97852), (30, 9, 0.95723)]
)
def test_a_medians_interval_is_exact(count: int, skipped: int, held: float) -> None:
    assert interval.median(count) == pytest.approx((skipped, held), abs=1e-5)
    chance, runs = random.Random(1), 4000
    samples = [sorted(chance.expovariate(1) for _ in range(count)) for _ in range(runs)]
    hits = sum(each[skipped] <= np.log(2) <= each[-1 - skipped] for each in samples)
    assert hits / runs == pytest.approx(held, abs=0.01)


def test_a_bound_at_the_intervals_end_is_as_likely_as_what_it_leaves_out() -> None:
    figures = [1.0, 2.0, 5.0, 3.0, 2.5, 9.0, 4.5, 3.2]
    for bound in interval.mean(figures, [1.0] * 8):
        assert interval.mean_beyond(figures, [1.0] * 8, bound) == pytest.approx(0.025, abs=0.001)


@pytest.mark.parametrize("chance", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("count", SIZES)
def test_events_are_covered(chance: float, count: int) -> None:
    """Student's interval of an event in one of ten holds in 65 % of samples of ten."""
    draws = random.Random(1)
    bounds = [interval.events(hits, count) for hits in range(count + 1)]
    hits = [sum(draws.random() < chance for _ in range(count)) for _ in range(2000)]
    assert sum(bounds[each][0] <= chance <= bounds[each][1] for each in hits) / 2000 >= interval.NOMINAL - 0.01


def test_a_sign_test_and_an_event_have_their_exact_chance() -> None:
    assert interval.median_beyond([1, 2, 3, 4, 5, 6], 0) == 1 / 64
    assert interval.median_beyond([1, 2, 3, 4, 5, 6], 7) == 1 / 64
    assert interval.event_beyond(0, 10, 0.5) == pytest.approx(1 / 1024)
    assert interval.event_beyond(10, 10, 0.9) == pytest.approx(0.9**10)
