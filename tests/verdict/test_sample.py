"""What is measured of a case: one figure for each draw, and ratios of arms within a draw."""

from __future__ import annotations

import random
from collections.abc import Mapping
from math import comb, inf
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lab.units import UnitError, Value
from lab.verdict.sample import Sample, independent

Figures = Mapping[tuple[int, int], float]


def sample(figures: Figures, real: bool = True) -> Sample:
    return Sample({which: Value(number, "s") for which, number in figures.items()}, real)


def repeats(*numbers: float) -> Sample:
    return sample({(1, repeat): number for repeat, number in enumerate(numbers)})


def record(seed: int, repeat: int, clock: str = "virtual") -> Any:
    return SimpleNamespace(trial=SimpleNamespace(seed=seed, repeat=repeat, clock=clock))


def test_repeats_of_a_seed_are_one_sample_in_virtual_time_and_several_in_real_time() -> None:
    """The same bytes twice are not known any better; a mean over both would have too narrow an interval."""
    assert len(independent([record(1, 0), record(1, 1), record(2, 0)])) == 2
    assert len(independent([record(1, 0, "real"), record(1, 1, "real")])) == 2


def test_a_ratio_is_that_of_the_same_repeat() -> None:
    """A drift that both arms share drops out of it."""
    ratio = repeats(2, 20, 200).over(repeats(1, 10, 100))
    assert ratio.estimate == Value(2, "1", 2, 2, 0.75)


def test_a_repeat_that_one_arm_lacks_has_no_ratio() -> None:
    base, arm = sample({(1, 0): 1, (1, 1): 4, (1, 2): 0}), sample({(1, 1): 2, (1, 2): 1, (1, 3): 7})
    assert arm.over(base).numbers == [0.5], "nothing is a multiple of 0"
    assert arm.over(base).estimate is None
    assert arm.over(base).without_ratio == "the other arm's figure is 0 in 1 of 2 pairs: they have no ratio"
    assert sample({}).over(base).estimate is None


def _rounded(of: Sample) -> Value:
    found = of.estimate
    assert found is not None
    return replace(found, low=round(found.bounds[0], 6), high=round(found.bounds[1], 6))


def test_what_machines_leave_uncertain_is_part_of_the_interval_and_of_a_ratio() -> None:
    arm = Sample({(1, turn): Value(2 + turn, "s").within(0.2) for turn in range(3)}, real=True)
    assert _rounded(arm) == Value(3, "s", 1.6, 5, 0.75)
    assert arm.uncertain == "the machine may have been away for up to 20 % of the time"
    assert _rounded(arm.over(sample({(1, 0): 1}))) == Value(2, "1", 1.6, 2.5), "one repeat: its coverage is unknown"
    assert repeats(1, 2).uncertain == ""


def test_one_trial_does_not_show_how_far_trials_differ_where_they_cost_cpu_time_alone() -> None:
    one, two = (Sample({(1, turn): Value(2, "s").within(0.02) for turn in range(count)}, real=True) for count in (1, 2))
    assert (one.is_alone, two.is_alone) == (True, False)
    assert not repeats(1).is_alone, "its network's rate or delay decides"
    assert not sample({(1, 0): 1}, real=False).is_alone


def test_the_interval_of_a_ratio_has_the_coverage_that_it_says() -> None:
    """Six pairs, whose moments vary tenfold: in 96.9 % of cases the interval holds the true ratio of 2."""
    chance, runs, held = random.Random(1), 2000, 0
    for _ in range(runs):
        moments = [chance.uniform(1, 10) for _ in range(6)]
        base = repeats(*(moment * chance.lognormvariate(0, 0.1) for moment in moments))
        arm = repeats(*(2 * moment * chance.lognormvariate(0, 0.1) for moment in moments))
        found = arm.over(base).estimate
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        assert found.coverage == 1 - 2 / 64
        held += found.low <= 2 <= found.high
    assert held / runs == pytest.approx(1 - 2 / 64, abs=0.013)  # 3.3 standard errors


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_repeats_does_not_matter(numbers: list[float], chance: random.Random) -> None:
    figures = list(enumerate(numbers))
    shuffled = figures.copy()
    chance.shuffle(shuffled)
    one, other = (sample({(1, repeat): number for repeat, number in each}) for each in (figures, shuffled))
    assert one.estimate == other.estimate
    assert other.over(one).numbers == [1.0] * len(numbers)


def median(*numbers: float) -> Value:
    found = repeats(*numbers).estimate
    assert found is not None
    return found


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_the_interval_of_a_share_holds_no_impossible_share(shares: list[float]) -> None:
    figures = {(seed, 0): Value(share, "1") for seed, share in enumerate(shares, 1)}
    found = Sample(figures, limits=(0, 1)).estimate
    assert found is not None
    assert 0 <= found.bounds[0] <= found.number <= found.bounds[1] <= 1


def test_skewed_shares_would_have_an_interval_beyond_one() -> None:
    shares = [1, 1, 1, 1, 1, 1, 1, 1, 0.2, 0.9]
    figures = {(seed, 0): Value(share, "1") for seed, share in enumerate(shares, 1)}
    wide, cut = Sample(figures).estimate, Sample(figures, limits=(0, 1)).estimate
    assert wide is not None
    assert cut is not None
    assert wide.bounds[1] > 1
    assert cut == replace(wide, high=1.0)


def test_a_ratio_of_figures_that_are_never_negative_is_never_negative() -> None:
    arm = {(seed, 0): Value(number, "s") for seed, number in enumerate([0, 0, 0, 0, 0, 9], 1)}
    base = {which: Value(1, "s") for which in arm}
    wide, cut = (Sample(arm, limits=each).over(Sample(base, limits=each)).estimate for each in ((-inf, inf), (0, inf)))
    assert wide is not None
    assert cut is not None
    assert wide.bounds[0] < 0
    assert cut == replace(wide, low=0)


@pytest.mark.parametrize(("censored", "high"), [(1, 3.0), (2, inf), (6, inf)])
def test_a_lower_bound_counts_in_the_median_as_a_figure_that_may_be_larger(censored: int, high: float) -> None:
    """Of ten figures, the second and the ninth hold the median."""
    figures = [Value(number, "s") for number in [1, 2, 2, 2, 3, 3, 3, 3, 3, 3][: 10 - censored]]
    figures += [Value(4, "s", 4, inf)] * censored
    found = Sample({(seed, 0): figure for seed, figure in enumerate(figures, 1)}, by="median").estimate
    assert found is not None
    assert (found.number, *found.bounds) == (4 if censored > 5 else 3, 2, high)


def test_the_median_has_the_interval_of_order_statistics() -> None:
    """Six of six hold the median in 1 - 2/64 of cases; of twenty, the 6th to the 15th do in 95.9 %; three in 75 %."""
    assert median(5, 3, 1, 6, 2, 4) == Value(3.5, "s", 1, 6, 1 - 2 / 64)
    of_twenty = median(*range(20))
    assert (of_twenty.number, of_twenty.low, of_twenty.high) == (9.5, 5, 14)
    assert of_twenty.coverage == pytest.approx(1 - 2 * sum(comb(20, below) for below in range(6)) / 2**20)
    assert median(1, 9, 2) == Value(2, "s", 1, 9, 0.75)
    assert median(7) == Value(7, "s"), "of one figure nobody knows how far it is from the next"


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=50))
def test_the_median_is_within_its_interval(numbers: list[float]) -> None:
    value = median(*numbers)
    if value.low is not None and value.high is not None:
        assert min(numbers) <= value.low <= value.number <= value.high <= max(numbers)


def test_equal_figures_are_no_certainty() -> None:
    """Ten of ten draws without a loss: up to a quarter of others may lose, and the interval says what it covers."""
    ten = sample({(seed, 0): 7 for seed in range(10)}, real=False)
    assert ten.estimate == Value(7, "s", 7, 7, 1 - 2 / 2**10)
    assert ten.uncertain == "all 10 draws gave this figure, but up to 26 % of further draws may differ"
    assert sample({(1, 0): 7}, real=False).estimate == Value(7, "s"), "a trial that has no chance in it is exact"


@pytest.mark.parametrize(("hits", "low", "high"), [(0, 0, 0.3085), (1, 0.0025, 0.4450), (5, 0.1871, 0.8129)])
def test_events_have_the_interval_of_clopper_and_pearson(hits: int, low: float, high: float) -> None:
    """Bounds from the tables of Clopper and Pearson; R's binom.test() gives the same."""
    assert Sample({(1, 0): Value(1, "1")}, by="event").estimate == Value(1, "1"), "without chance it is exact"
    figures = {(seed, 0): Value(float(seed < hits), "1") for seed in range(10)}
    found = Sample(figures, by="event").estimate
    assert found is not None
    assert (found.number, *found.bounds) == pytest.approx((hits / 10, low, high), abs=1e-4)


def test_a_ratio_of_means_has_every_pair_in_it() -> None:
    """A mean of ratios is 1.54 here: it counts what a small base makes large; and a base of 0 would drop out of it."""
    base, arm = sample({(1, 0): 1, (2, 0): 2, (3, 0): 6}, False), sample({(1, 0): 3, (2, 0): 2, (3, 0): 4}, False)
    ratio = arm.over(base).estimate
    assert ratio is not None
    assert ratio.number == 1
    with_zero = arm.over(sample({(1, 0): 0, (2, 0): 3, (3, 0): 6}, False))
    assert with_zero.estimate is not None
    assert with_zero.estimate.number == 1
    nothing = arm.over(sample({(1, 0): 0, (2, 0): 0, (3, 0): 0}, False))
    assert (nothing.estimate, nothing.without_ratio) == (None, "the other arm's mean is 0: there is no ratio to it")


def test_figures_of_several_units_have_no_mean() -> None:
    with pytest.raises(UnitError):
        _ = Sample({(1, 0): Value(1, "s"), (2, 0): Value(1, "B")}).estimate
