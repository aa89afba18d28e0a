"""What is measured of a case: one figure for each draw, and ratios of arms within a draw."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.units import Value
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
    assert ratio.estimate == Value(2, "1")


def test_a_repeat_that_one_arm_lacks_has_no_ratio() -> None:
    base, arm = sample({(1, 0): 1, (1, 1): 4, (1, 2): 0}), sample({(1, 1): 2, (1, 2): 1, (1, 3): 7})
    assert arm.over(base).numbers == [0.5], "nothing is a multiple of 0"
    assert sample({}).over(base).estimate is None


def _rounded(of: Sample) -> Value:
    found = of.estimate
    assert found is not None
    return replace(found, low=round(found.bounds[0], 6), high=round(found.bounds[1], 6))


def test_what_machines_leave_uncertain_is_part_of_the_interval_and_of_a_ratio() -> None:
    arm = Sample({(1, turn): Value(2 + turn, "s").within(0.2) for turn in range(3)}, real=True)
    assert _rounded(arm) == Value(3, "s", 1.6, 5, 0.75)
    assert arm.uncertain == "known to 20 %: for so long the machine may have been away"
    assert _rounded(arm.over(sample({(1, 0): 1}))) == Value(2, "1", 1.6, 2.5), "one repeat: its coverage is unknown"
    assert repeats(1, 2).uncertain == ""


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
