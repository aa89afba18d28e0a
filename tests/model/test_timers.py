"""The laws of TCP's timers over long delays, against the times that documentation and RFC give."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab import model
from lab.model import KernelTraits, ModelError, Scenario
from tests.model.scenarios import hop, host, scenario, tuned


def away(seconds: float, version: tuple[int, ...] = (7, 2), **sysctls: int) -> Scenario:
    """A peer whose answer takes so many seconds, and next to nothing for the packets themselves."""
    there = hop("10 Gbit/s", f"{round(seconds * 500_000)} us")
    return scenario(there, sender=tuned(host("sender"), **sysctls), kernel=KernelTraits(version))


@pytest.mark.parametrize(
    ("seconds", "again", "before"),
    [(0.9, 0, 0), (1.5, 1, 1), (2.5, 2, 1), (5.5, 5, 2), (6.9, 5, 2), (7.1, 6, 3), (60, 9, 5)],
)
def test_a_syn_is_sent_again(seconds: float, again: int, before: int) -> None:
    """After 1, 2, 3, 4, 5, 7, 11, 19 and 35 s; before Linux 6.5 after 1, 3, 7, 15 and 31 s."""
    assert model.syn_retransmissions(away(seconds)).number == again
    assert model.syn_retransmissions(away(seconds, (6, 1))).number == before


def test_a_connection_is_given_up_as_the_documentation_says() -> None:
    found = model.connect_timeout(away(2640))
    assert found.number == found.low == 131
    assert found.high == pytest.approx(131 + 7 * 0.064 + 3 * 0.512 + 4.096), "each timer is late by a step of its level"
    assert model.connect_timeout(away(2640, (6, 1))).number == 127
    with pytest.raises(ModelError, match="the answer comes in time"):
        model.connect_timeout(away(100))
    with pytest.raises(ModelError, match="given up"):
        model.syn_retransmissions(away(200))
    assert model.syn_retransmissions(away(200, tcp_syn_retries=20)).number == 11


@pytest.mark.parametrize(("seconds", "again"), [(100, 0), (119, 0), (125, 1), (239, 1), (250, 2), (1000, 8)])
def test_each_two_minutes_a_segment_is_sent_again(seconds: float, again: int) -> None:
    assert model.needless_retransmissions(away(seconds)).bounds == (again, again)


def test_a_timer_of_two_minutes_may_be_four_seconds_late() -> None:
    """Three of them are 360 s, or up to 372: an answer after 364 s comes after two or three."""
    assert model.needless_retransmissions(away(364)).bounds == (2, 3)
    fine = replace(away(364), kernel=KernelTraits((7, 2), patches=("fine-timer-wheel",)))
    assert model.needless_retransmissions(fine).bounds == (3, 3)


def test_the_rto_is_the_paths_own_below_and_unknown_above() -> None:
    with pytest.raises(ModelError, match="below its bound of two minutes"):
        model.needless_retransmissions(away(30))
    with pytest.raises(ModelError, match="35 minutes"):
        model.needless_retransmissions(away(2640))


def test_keepalive_gives_up_when_no_probe_can_be_answered() -> None:
    found = model.keepalive_timeout(away(2640))
    assert found.bounds == pytest.approx((7200 + 9 * 75, 7200 + 262.144 + 9 * (75 + 4.096)))
    with pytest.raises(ModelError, match="the answer to a probe arrives"):
        model.keepalive_timeout(away(600))
