"""Figures and intervals as text."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.report import html, text, wording
from lab.report.figures.scale import drawn_ends
from lab.report.wording import interval, percents
from lab.spec.claimed import Reported
from lab.spec.tolerance import AtLeast
from lab.units import Value
from lab.verdict import ClaimResult, Result, Verdict


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


RATIO = Result(
    "twice",
    "",
    claimed=Reported(1.5, "half as much again"),
    predicted=Value(1.4, "1"),
    measured=Value(1.358, "1", 1.34, 1.37),
    verdict=None,
    counts=False,
    trials=(),
    bound="≥ ",
    accuracy=AtLeast(because="a bound"),
    is_ratio=True,
)


def test_a_ratio_of_two_arms_is_a_factor_in_text_and_on_pages() -> None:
    """A bare 1.358 below 206.8 Mbit/s looks like a figure in Mbit/s."""
    assert text.measured(RATIO) == "1.358×\n1.34 to 1.37"
    assert html.measured(RATIO) == "<strong>1.358×</strong><br><small>1.34 to 1.37</small>"
    assert wording.claimed_briefly(RATIO) == "≥ 1.5×"
    assert wording.foreseen(RATIO) == "≥ 1.4×"
    shown = text.plain(text.block(ClaimResult("a/b", Verdict("reproduced", ""), "7.2", "virtual", (RATIO,))))
    assert all(figure in shown for figure in ("≥ 1.5×", "≥ 1.4×", "1.358×"))
    none = replace(RATIO, claimed=None, predicted=None, measured=None)
    assert (wording.foreseen(none), text.measured(none), wording.claimed_briefly(none)) == ("—", "—", "—")
    plain = replace(RATIO, is_ratio=False)
    assert "×" not in text.measured(plain) + html.measured(plain) + wording.foreseen(plain)
