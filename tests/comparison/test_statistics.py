"""The exact Mann-Whitney test, against published tables and against counting all permutations."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.comparison.statistics import mann_whitney

SAMPLE = st.lists(st.integers(0, 6), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("sizes", "p"),
    [((3, 3), 2 / 20), ((4, 4), 2 / 70), ((5, 5), 2 / 252), ((1, 1), 1.0)],
)
def test_samples_that_do_not_overlap(sizes: tuple[int, int], p: float) -> None:
    """Two of all C(n + m, n) ways are as extreme: all below, or all above."""
    base, new = range(sizes[0]), range(100, 100 + sizes[1])
    up, down = mann_whitney(list(base), list(new)), mann_whitney(list(new), list(base))
    assert (up.p, down.p) == pytest.approx((p, p))
    assert (up.effect, down.effect) == (1, -1)


def test_the_critical_value_of_the_table() -> None:
    """n = m = 5: U = 2 is the largest with p <= 0.05, two-sided (Mann and Whitney 1947, table I: 0.016 one-sided)."""
    shift = mann_whitney([1, 2, 3, 6, 7], [4, 8, 9, 10, 11])  # U = 2
    assert shift.p == pytest.approx(8 / 252)
    assert shift.significant
    assert not mann_whitney([1, 2, 5, 6, 7], [3, 4, 9, 10, 11]).significant


def test_samples_that_are_alike() -> None:
    shift = mann_whitney([2, 2, 2], [2, 2])
    assert (shift.p, shift.effect, shift.significant) == (1, 0, False)


@given(base=SAMPLE, new=SAMPLE)
def test_as_counting_every_permutation(base: list[int], new: list[int]) -> None:
    """The definition: of all ways to deal the values out again, those at least as far from the middle."""

    def wins(ours: list[int], theirs: list[int]) -> float:
        return sum((b > a) - (b < a) for a in ours for b in theirs)

    everything = [*base, *new]
    deals = [set(chosen) for chosen in combinations(range(len(everything)), len(new))]
    far = [
        abs(wins([v for i, v in enumerate(everything) if i not in deal], [everything[i] for i in deal]))
        >= abs(wins(base, new))
        for deal in deals
    ]
    shift = mann_whitney(base, new)
    assert shift.p == pytest.approx(sum(far) / len(far))
    assert shift.effect == pytest.approx(wins(base, new) / (len(base) * len(new)))
