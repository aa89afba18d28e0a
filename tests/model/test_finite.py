"""Shares in a finite time: the scatter of windows against windows drawn at random, and what is left of the start."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import model
from lab.model import ModelError, Scenario
from lab.model.finite import mean_variance
from lab.model.in_step import Rival, in_step
from lab.spec.prediction import Prediction
from tests.model.test_several import FULL, path


def drawn_deviation(left: float, losses: float, by_size: bool) -> float:
    """The deviation of the mean of 2,000 drawn windows that grow by 1 in a unit of time, and lose about once in it."""
    rng, step, mean = np.random.default_rng(1), 0.02, 1 / (1 - left)
    windows = np.full(2000, mean)
    total, counted = np.zeros(2000), 0
    for number in range(round((15 + losses) / step)):
        windows += step
        rates = windows / mean if by_size else np.ones(2000)
        windows[rng.random(2000) < rates * step] *= left
        if number >= 15 / step:
            total, counted = total + windows, counted + 1
    means = total / counted
    return float(means.std() / means.mean())


@pytest.mark.parametrize(("left", "losses"), [(0.5, 5), (0.5, 20), (0.7, 5), (0.7, 20)])
def test_the_mean_of_a_window_scatters_as_drawn_ones_do(left: float, losses: float) -> None:
    assert sqrt(mean_variance(left, losses, pull=1)) == pytest.approx(drawn_deviation(left, losses, False), rel=0.1)
    ratio = sqrt(mean_variance(left, losses, pull=2)) / drawn_deviation(left, losses, True)
    assert 0.95 < ratio < 1.3  # linear, so that it is a little too wide


@given(st.sampled_from([0.5, 0.7]), st.floats(0.5, 1000), st.sampled_from([1, 2]))
def test_more_losses_leave_less_to_chance(left: float, losses: float, pull: float) -> None:
    variance = mean_variance(left, losses, pull)
    assert 0 < mean_variance(left, 2 * losses, pull) < variance
    assert mean_variance(left, losses, 2) < mean_variance(left, losses, 1)
    assert variance < (1 - left) / (1 + left)  # a moment's


def test_two_equal_flows_scatter_by_half_of_what_one_window_does_squared() -> None:
    # Each of two variances v moves the share by half of it, so that its deviation is √(v / 2).
    about = path("reno", "reno", limit=100)
    found = model.share_at_full_queue_in(60)(about)
    low, high = found.bounds
    assert found.number == pytest.approx(0.5)
    assert high - 0.5 == pytest.approx(0.5 - low)
    rtt = model.base_rtt(about.flows[0].scenario).number
    step = in_step([Rival("reno", rtt)] * 2, 20e6 / FULL, 83 * FULL / 20e6)
    window = 20e6 / FULL * (rtt + step.wait) / 2
    losses = 60 / (window / 1.5 * (rtt + step.wait))  # a window grows back from 2/3 to 4/3 of its mean
    assert (high - 0.5) / 0.5 == pytest.approx(1.645 * sqrt(mean_variance(0.5, losses, 1) / 2), rel=0.01)


@pytest.mark.parametrize(
    ("law", "long_run", "about"),
    [
        (model.share_at_full_queue_in, model.share_at_full_queue, path("reno", "cubic", farther="10 ms", limit=100)),
        (
            model.share_by_chance_in,
            model.share_by_chance,
            path("reno", "cubic", farther="10 ms", queue={"kind": "pie"}),
        ),
    ],
)
def test_a_long_time_is_the_long_run(law: object, long_run: Prediction, about: Scenario) -> None:
    assert callable(law)
    assert law(1e7)(about).bounds == pytest.approx(long_run(about).bounds, rel=0.01)
    (low, high), (lower, higher) = law(400)(about).bounds, law(100)(about).bounds
    assert lower < low < high < higher


def test_too_few_losses_decide_no_share() -> None:
    with pytest.raises(ModelError, match=r"scatters by \d+ % in this time"):
        model.share_at_full_queue_in(5)(path("reno", "reno", limit=100))


def test_beside_bbr_the_start_fades() -> None:
    # 20 ms and a queue of eight products. Reno gives up a half in each period; BBR takes a quarter in eight rounds.
    product = 20e6 * 0.0203 / FULL
    about = path("bbr", "reno", "reno", limit=round(8.5 * product))
    low, high = model.share_beside_bbr(about).bounds
    rtt = model.base_rtt(about.flows[0].scenario).number
    wait = 8 * FULL * product / 20e6
    step = in_step([Rival("reno", rtt)] * 3, 20e6 / FULL, wait)
    slow = step.period / 0.5 + 8 * (rtt + wait) / log(1.25)
    left = slow * (exp(-60 / slow) - exp(-120 / slow)) / 60
    assert model.share_beside_bbr_in(60, 120)(about).bounds == pytest.approx(
        (low * (1 - left), high + (1 - high) * left), rel=0.01
    )
    assert model.share_beside_bbr_in(1e4, 2e4)(about).bounds == pytest.approx((low, high))
    with pytest.raises(ModelError, match=r"\d+ % of the shares at the start are left"):
        model.share_beside_bbr_in(1, 2)(about)


def test_cubic_beyond_renos_region_gives_up_half_as_much_at_a_loss() -> None:
    def left(megabits: int) -> float:
        about = path("bbr", "cubic", rate=f"{megabits} Mbit/s", limit=round(megabits * 1e6 * 0.1 / FULL))
        high = model.share_beside_bbr(about).bounds[1]
        return (model.share_beside_bbr_in(30, 90)(about).bounds[1] - high) / (1 - high)

    assert left(200) > 1.5 * left(10)


@given(st.floats(1.9, 2.9))
def test_small_windows_are_between_those_with_and_without_timeouts(megabits: float) -> None:
    about = path("reno", "reno", farther="20 ms", rate=f"{megabits:.3f} Mbit/s", queue={"kind": "pie"})
    low, high = model.share_by_chance(about).bounds
    near, far = (model.base_rtt(flow.scenario).number + 0.015 for flow in about.flows)
    assert high == pytest.approx(far / (near + far))
    assert 0.5 < low < high  # a timeout has the same 200 ms for both
    few, many = model.dropped_by_aqm(about).bounds
    assert 0.2 * many < few < 0.9 * many  # a timeout slows a flow down, so that fewer losses do
