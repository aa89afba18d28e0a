"""A sender whose segments are lost: what it sends again when, and what is left of its window."""

from __future__ import annotations

import pytest

from lab.ext.mptcp.model.recovery import LossySender
from lab.model import ModelError, Scenario
from lab.model.cubic import Cubic
from lab.model.sender import Skb
from tests.model.scenarios import hop, host

MSS, MSEC, WINDOW = 1448, 10**6, 1 << 20
PATH = Scenario((hop("100 Mbit/s", "10 ms"),), (hop("100 Mbit/s", "10 ms"),), host(), host())


class Sending:
    """A sender that has sent ten segments at 0 ms, its first window."""

    def __init__(self, segments: int = 10) -> None:
        self.sent: list[tuple[int, int]] = []  # segments by number, and when
        self.sender = LossySender(PATH, self._transmit)
        for _ in self.sender.sendmsg(segments * MSS):
            raise AssertionError("the buffer is too small")
        self.sender.close()

    def _transmit(self, now: int, seq: int, skb: Skb) -> None:
        self.sent += [(number, now // MSEC) for number in range(seq // MSS, -(-skb.end_seq // MSS))]

    def ack(self, at: int, until: int, sack: tuple[int, int] | None = None) -> None:
        """Let an ACK come at so many ms, for all segments before `until`, and for those from and to a number."""
        block = sack and (sack[0] * MSS, sack[1] * MSS)
        self.sender.take_ack(at * MSEC, until * MSS, WINDOW, block)


def test_a_segment_is_lost_once_three_behind_it_have_arrived() -> None:
    """All were sent at one moment, so that none is late: a third SACK makes sure (tcp_rack_reo_wnd())."""
    sending = Sending()
    assert sending.sent == [(number, 0) for number in range(10)]
    sending.ack(20, 2)
    sending.ack(21, 2, (3, 4))
    sending.ack(21, 2, (3, 5))
    assert len(sending.sent) == 10
    sending.ack(21, 2, (3, 6))
    assert sending.sent[10:] == [(2, 21)]


def test_a_loss_leaves_seven_tenths_of_the_window() -> None:
    """Two ACKed segments made twelve of ten; 12 * 717 / 1024 = 8."""
    sending = Sending()
    sending.ack(20, 2)
    cubic = sending.sender.cubic
    assert cubic.cwnd == 12
    for last in (4, 5, 6):
        sending.ack(21, 2, (3, last))
    assert cubic.ssthresh == 8
    sending.ack(42, 10)
    assert (cubic.cwnd, sending.sender.high_seq) == (8, None)


def test_the_loss_of_a_tail_is_found_by_a_probe() -> None:
    """Nothing comes behind the last two: after two round trips and 2 ms the very last is sent again."""
    sending = Sending()
    sending.ack(20, 8)
    sender = sending.sender
    srtt_us = sender.srtt_us >> 3
    assert sender.probe_due == pytest.approx((20_000 + 2 * srtt_us + 2000) * 1000, abs=2.1 * MSEC)
    sender.probe_timer(sender.probe_due)
    assert [number for number, _ in sending.sent[10:]] == [9]
    answered = sender.probe_due  # which is now the RTO's
    sending.ack(85, 8, (9, 10))
    sender.reo_timer(90 * MSEC)
    assert [number for number, _ in sending.sent[11:]] == [8]
    assert answered > 200 * MSEC


def test_what_waits_for_a_timeout_is_not_covered() -> None:
    sending = Sending()
    sending.sender.probe_timer(sending.sender.probe_due)
    with pytest.raises(ModelError, match="retransmission timeout"):
        sending.sender.probe_timer(sending.sender.probe_due)


def test_cubic_returns_to_where_it_lost() -> None:
    """From 70 of 100, K is the cube root of 30 / 0.4: 4.2 s. Before that it grows more slowly, and never beyond."""
    cubic = Cubic(cwnd=100, ssthresh=50, is_cwnd_limited=True, delay_min=100_000)
    cubic.lose()
    assert cubic.ssthresh == 70
    cubic.cwnd = cubic.ssthresh
    cubic.avoid_congestion(1_000_000, 1)
    assert cubic.bic_k / 1024 == pytest.approx((30 / 0.4) ** (1 / 3), rel=0.01)
    assert cubic.origin_point == 100


def test_a_second_loss_below_the_first_leaves_room_for_others() -> None:
    """Fast convergence: W_max is 80 * (1024 + 717) / 2048 = 68."""
    cubic = Cubic(cwnd=100)
    cubic.lose()
    cubic.cwnd = 80
    cubic.lose()
    assert (cubic.last_max_cwnd, cubic.ssthresh) == (68, 56)
