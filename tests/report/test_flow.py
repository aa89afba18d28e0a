"""The goodput curve of a trial's page: a transfer whose rate does not change has no steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.report.flow import whole_bursts


@given(
    periods=st.floats(0.02, 2),
    width=st.floats(0.0, 0.5),
    arrivals=st.integers(1, 20),
    least=st.floats(0.05, 0.2),
)
def test_bursts_of_any_period_and_any_width_are_one_rate(
    periods: float, width: float, arrivals: int, least: float
) -> None:
    """Bursts of 1,000 bytes for each arrival take a part of their period; bins of `least` would cut some of them."""
    period = periods * least
    within = np.arange(arrivals) * period * width / arrivals
    times = (np.arange(60)[:, None] * period + within).ravel()
    found = whole_bursts(times, 1000 * np.arange(1, len(times) + 1), least)
    assert len(found) >= 59 * period / least / 2 - 2, "and no time is left out"
    assert [rate for _, rate in found] == pytest.approx([8000 * arrivals / period] * len(found), rel=0.01)


def test_a_stall_is_seen() -> None:
    times = np.concatenate([np.arange(100) * 0.01, 3 + np.arange(100) * 0.01])
    rates = dict(whole_bursts(times, 1000 * np.arange(1, 201), 0.05))
    assert min(rates.values()) < 0.1 * max(rates.values())
    assert max(rates.values()) == pytest.approx(800_000, rel=0.01)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_arrivals_have_no_rate(count: int) -> None:
    assert whole_bursts(np.arange(count) / 100, np.arange(count), 0.05) == []


def test_a_trial_without_a_duration_has_no_rate() -> None:
    """All its ACKs came at one instant, so that the shortest burst of a drawing would be 0 s."""
    assert whole_bursts(np.zeros(5), np.arange(5), 0.0) == []
