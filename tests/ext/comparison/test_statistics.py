"""The exact Mann-Whitney test, its interval and Holm's correction: against tables, definitions and simulated chance."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.ext.comparison.statistics import attainable, detectable, mann_whitney, ratio
from lab.units import Value
from lab.verdict.correction import LEVEL, holm

SAMPLE = st.lists(st.integers(0, 6), min_size=1, max_size=5)
FIGURES = st.lists(st.floats(0.01, 100), min_size=1, max_size=8)
CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("sizes", "p"),
    [((3, 3), 2 / 20), ((4, 4), 2 / 70), ((5, 5), 2 / 252), ((1, 1), 1.0)],
)
def test_samples_that_do_not_overlap(sizes: tuple[int, int], p: float) -> None:
    """Two of all C(n + m, n) ways are as extreme: all below, or all above."""
    base, new = range(sizes[0]), range(100, 100 + sizes[1])
    up, down = mann_whitney(list(base), list(new)), mann_whitney(list(new), list(base))
    assert (up.p, down.p) == pytest.approx((p, p))
    assert (up.least, down.least) == (up.p, down.p)
    assert (up.effect, down.effect) == (1, -1)


def test_the_critical_value_of_the_table() -> None:
    """n = m = 5: U = 2 is the largest with p <= 0.05, two-sided (Mann and Whitney 1947, table I: 0.016 one-sided)."""
    assert mann_whitney([1, 2, 3, 6, 7], [4, 8, 9, 10, 11]).p == pytest.approx(8 / 252)  # U = 2
    assert mann_whitney([1, 2, 5, 6, 7], [3, 4, 9, 10, 11]).p > LEVEL


def test_samples_that_are_alike() -> None:
    shift = mann_whitney([2, 2, 2], [2, 2])
    assert (shift.p, shift.least, shift.effect) == (1, 1, 0)


@given(base=SAMPLE, new=SAMPLE)
def test_as_counting_every_permutation(base: list[int], new: list[int]) -> None:
    """The definition: of all ways to deal the values out again, those at least as far from the middle."""

    def wins(ours: list[int], theirs: list[int]) -> float:
        return sum((b > a) - (b < a) for a in ours for b in theirs)

    everything = [*base, *new]
    deals = [set(chosen) for chosen in combinations(range(len(everything)), len(new))]
    far = [
        abs(wins([v for i, v in enumerate(everything) if i not in deal], [everything[i] for i in deal]))
        for deal in deals
    ]
    shift = mann_whitney(base, new)
    assert shift.p == pytest.approx(sum(each >= abs(wins(base, new)) for each in far) / len(far))
    assert shift.least == pytest.approx(sum(each == max(far) for each in far) / len(far))
    assert shift.effect == pytest.approx(wins(base, new) / (len(base) * len(new)))


# -- what samples of a size can show at all


@given(base=SAMPLE, new=SAMPLE)
def test_no_figures_beat_what_is_attainable(base: list[int], new: list[int]) -> None:
    """Which figures fall to which side does not matter. Equal ones may leave only one of the two ends that far out."""
    shift = mann_whitney(base, new)
    assert attainable(len(base), len(new)) / 2 <= shift.least + 1e-12 <= shift.p + 2e-12
    assert mann_whitney(new, base).least == pytest.approx(shift.least)
    if len({*base, *new}) == len(base) + len(new):
        assert shift.least == pytest.approx(attainable(len(base), len(new)))


@given(st.integers(1, 12), st.integers(1, 12))
def test_more_figures_attain_more(base: int, new: int) -> None:
    assert attainable(base + 1, new) <= attainable(base, new) == attainable(new, base)


def test_what_sizes_can_show_something() -> None:
    assert attainable(3, 3) == pytest.approx(0.1)
    assert attainable(4, 4) < LEVEL < attainable(3, 4)


# -- by how much


@given(base=FIGURES, new=FIGURES)
def test_the_interval_is_the_test_turned_around(base: list[float], new: list[float]) -> None:
    """Where no figures are equal, the test rejects exactly when 1 is not in an interval of that level."""
    found = ratio(base, new)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.coverage is not None
    assert found.low <= found.number <= found.high
    if len({*base, *new}) == len(base) + len(new) and found.coverage >= 1 - LEVEL:
        assert (mann_whitney(base, new).p <= LEVEL) == (not found.low <= 1 <= found.high)


@given(base=FIGURES, new=FIGURES, factor=st.sampled_from([0.25, 0.5, 2.0, 8.0]))
def test_a_ratio_scales_and_turns_around(base: list[float], new: list[float], factor: float) -> None:
    found, scaled, back = ratio(base, new), ratio(base, [factor * each for each in new]), ratio(new, base)
    assert found
    assert scaled
    assert back
    assert found.low
    assert scaled.number == pytest.approx(factor * found.number)
    assert scaled.coverage == found.coverage
    assert back.high == pytest.approx(1 / found.low)


@pytest.mark.parametrize("sizes", [(3, 3), (5, 5), (4, 10), (10, 10)])
def test_the_interval_has_the_coverage_that_it_says(sizes: tuple[int, int]) -> None:
    """Figures that scatter by a fifth, half as large on the new side: 500 draws."""
    chance, held, coverage = random.Random(1), 0, 0.0
    for _ in range(500):
        base, new = ([chance.lognormvariate(0, 0.2) for _ in range(size)] for size in sizes)
        found = ratio(base, [0.5 * each for each in new])
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        assert found.coverage is not None
        held, coverage = held + (found.low <= 0.5 <= found.high), found.coverage
    assert held / 500 == pytest.approx(coverage, abs=3.3 * (coverage * (1 - coverage) / 500) ** 0.5)
    assert coverage >= min(1 - attainable(*sizes), 1 - LEVEL) - 1e-9


def test_figures_of_nothing_have_no_ratio() -> None:
    assert ratio([1, 2, 0], [1, 2, 3]) is None
    assert ratio([1, 2, 3], [0]) is None


def test_what_would_show() -> None:
    """Ten figures within 1 % show a step of a few percent; three show none, and equal ones show any."""
    steady = [100 + 0.1 * step for step in range(10)]
    found = detectable(ratio(steady, steady) or Value(1, "1"))
    assert found is not None
    assert 0.001 < found < 0.01
    assert mann_whitney(steady, [each * (1 + 1.5 * found) for each in steady]).p <= LEVEL
    assert mann_whitney(steady, [each * (1 + 0.5 * found) for each in steady]).p > LEVEL
    assert detectable(ratio([1, 2, 3], [1, 2, 3]) or Value(1, "1")) is None
    assert detectable(ratio([7] * 10, [7] * 10) or Value(1, "1")) == 0


# -- many tests


def test_holms_own_steps() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(CHANCES)
def test_a_correction_only_takes_away(tests: list[float]) -> None:
    corrected = holm(tests)
    for p, found in zip(tests, corrected, strict=True):
        assert p <= found <= min(1.0, p * len(tests)) + 1e-12, "never more than Bonferroni's"
    order = sorted(range(len(tests)), key=tests.__getitem__)
    assert [corrected[which] for which in order] == sorted(corrected), "the order of the tests stays"
    assert min(corrected) == pytest.approx(min(1.0, min(tests) * len(tests)))


@given(CHANCES, st.randoms(use_true_random=False))
def test_a_correction_does_not_depend_on_the_order(tests: list[float], chance: random.Random) -> None:
    order = list(range(len(tests)))
    chance.shuffle(order)
    corrected, shuffled = holm(tests), holm([tests[which] for which in order])
    assert shuffled == pytest.approx([corrected[which] for which in order])


def test_any_error_in_a_run_is_as_rare_as_the_level() -> None:
    """Fourteen cases of six against six that did not change: by themselves half of all runs would err."""
    chance = random.Random(1)

    def run() -> list[float]:
        draws = ([chance.random() for _ in range(12)] for _ in range(14))
        return [mann_whitney(each[:6], each[6:]).p for each in draws]

    runs = [run() for _ in range(200)]
    alone = sum(min(tests) <= LEVEL for tests in runs) / len(runs)
    together = sum(min(holm(tests)) <= LEVEL for tests in runs) / len(runs)
    assert alone > 0.3
    assert together <= LEVEL + 3.3 * (LEVEL * (1 - LEVEL) / len(runs)) ** 0.5
