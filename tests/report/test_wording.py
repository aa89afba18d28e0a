"""Figures and intervals as text."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.report.figures.scale import drawn_ends
from lab.report.wording import interval, percents
from lab.units import Value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (Value(3, "s"), ""),
        (Value(3, "s", 3, 3, 0.979), ""),
        (Value(3, "s", 2.5, 4, 0.979), "2.500 to 4.000 (97.9 %)"),
        (Value(0.9, "s", 0.5, 1.25), "500.0 ms to 1.250 s"),
        (Value(24, "s", 24, inf), "24.00 s or more"),
        (Value(3, "s", 2.5, inf, 0.979), "2.500 s or more (97.9 %)"),
    ],
)
def test_an_interval_is_text_with_its_units(value: Value | None, text: str) -> None:
    assert interval(value) == text


def test_an_interval_without_an_upper_bound_is_drawn_to_a_finite_end() -> None:
    assert drawn_ends(Value(3, "s", 2, 4)) == (2, 4)
    low, high = drawn_ends(Value(24, "s", 24, inf))
    assert (low, 24 < high < inf) == (24, True)


@given(parts=st.lists(st.integers(1, 10**9), min_size=1, max_size=15), whole=st.sampled_from([100, 1000]))
def test_percents_add_up_and_are_the_exact_ones_to_less_than_one(parts: list[int], whole: int) -> None:
    shares = [each / sum(parts) for each in parts]
    found = percents(shares, whole)
    assert sum(found) == whole
    assert all(abs(one - whole * share) < 1 + 1e-9 for one, share in zip(found, shares, strict=True))
    assert [one for _, one in sorted(zip(parts, found, strict=True))] == sorted(found)  # a larger share is not smaller


def test_no_shares_have_no_percents() -> None:
    assert percents([]) == []
    assert percents([1 / 3, 1 / 3, 1 / 3]) == [34, 33, 33]
