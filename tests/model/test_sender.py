"""The sender's decisions by themselves: when it puts a burst off, and how it grows its window."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from lab.model.cubic import TCP_INFINITE_SSTHRESH, Cubic
from lab.model.sender import Sender, Skb
from tests.model.scenarios import hop, scenario

MSS, US, MS = 1000, 1000, 10**6


class Deferral(NamedTuple):
    """A sender with RTT 10 ms and bursts of ten segments, whose first unsent skb has `length` bytes."""

    why: str
    defers: bool
    length: int = 20 * MSS
    last: bool = True
    fin: bool = False
    cwnd: int = 100
    packets_out: int = 95
    snd_wnd: int = 200 * MSS
    since_last: int = 100 * US  # since it sent last
    head_sent: int = 9500 * US  # ago: the ACK of it is expected after 10 ms


CASES = [
    Deferral("five segments of ten may go, and an ACK is 500 us away", True),
    Deferral("no segment went for 1 ms", True, since_last=MS),
    Deferral("no segment went for more than that", False, since_last=MS + 1),
    Deferral("a whole burst may go", False, packets_out=90),
    Deferral("one segment less may not", True, packets_out=91),
    Deferral("all of an skb that gets no more may go", False, length=5 * MSS, last=False),
    Deferral("that of the last skb, which may get more, waits", True, length=5 * MSS),
    Deferral("a third of cwnd may go", False, cwnd=27, packets_out=18),
    Deferral("a third of the window may go", False, snd_wnd=15 * MSS, packets_out=10),
    Deferral("a little less than a third may not", True, snd_wnd=16 * MSS, packets_out=11),
    Deferral("the next ACK is 1 ms away", True, head_sent=9000 * US),
    Deferral("the next ACK is further away", False, head_sent=9000 * US - 1),
    Deferral("the next ACK is late already", True, head_sent=50 * MS),
    Deferral("nothing more will come, and the window lets all go", False, length=5 * MSS - 1, fin=True),
]


@pytest.mark.parametrize("case", CASES, ids=[case.why for case in CASES])
def test_when_a_burst_is_put_off(case: Deferral) -> None:
    """tcp_tso_should_defer(), rule by rule."""
    ways = (hop(None, delay, mtu=MSS + 52) for delay in ("10 ms", "0 s"))
    sender = Sender(scenario(*ways), lambda _now, _seq, _skb: None)
    sender.snd_wnd = case.snd_wnd
    sender.cubic.cwnd, sender.packets_out = case.cwnd, case.packets_out
    sender.snd_nxt = case.packets_out * MSS
    sender.clock_cache = 1000 * MS
    sender.wstamp_ns = sender.clock_cache - case.since_last
    sender.rtx_queue.append(Skb(sender.snd_nxt, tstamp=sender.clock_cache - case.head_sent))
    sender.fin = case.fin
    send_win, cong_win = case.snd_wnd - case.packets_out * MSS, (case.cwnd - case.packets_out) * MSS
    assert sender._tso_should_defer(case.length, 10, case.last, send_win, cong_win) == case.defers


def acked(cubic: Cubic, now: int, segments: int = 10, rtt: int = 10_000, una: int = 1, nxt: int = 1 << 30) -> None:
    """An ACK at `now` us."""
    cubic.sample(now, rtt, una, nxt, ack_delay=0)
    cubic.avoid_congestion(now, segments)


def test_slow_start_grows_by_what_is_acknowledged_where_cwnd_was_used() -> None:
    used, unused = Cubic(), Cubic()
    used.sent(10, True, 0, 10)
    unused.sent(4, False, 0, 4)
    for cubic in (used, unused):
        acked(cubic, 10_000)
    assert (used.cwnd, unused.cwnd) == (20, 10)  # less than half of cwnd was used: 4 of 10


@pytest.mark.parametrize(
    ("last", "ends"),
    [(5_000, False), (5_001, True)],  # a train as long as half of an RTT of 10 ms
)
def test_a_train_of_acks_ends_slow_start(last: int, ends: bool) -> None:
    cubic = Cubic(cwnd=16)
    for now in (0, 1_500, 3_000, 4_500, last):  # never more than 2 ms apart
        acked(cubic, 1_000_000 + now, segments=0)
    assert (cubic.ssthresh < TCP_INFINITE_SSTHRESH) == ends


def test_no_train_has_a_gap_of_more_than_2_ms_nor_a_window_of_less_than_16() -> None:
    gap, small = Cubic(cwnd=16), Cubic(cwnd=15)
    for now in (0, 2_001, 4_002, 6_003, 8_004):
        acked(gap, 1_000_000 + now, segments=0)
    for now in (0, 2_000, 4_000, 6_000, 8_000):
        acked(small, 1_000_000 + now, segments=0)
    assert gap.slow_start
    assert small.slow_start


@pytest.mark.parametrize(
    ("delay_min", "rtt", "ends"),
    [  # by an eighth, but at least by 4 ms and at most by 16
        (10_000, 14_000, False),
        (10_000, 14_001, True),
        (80_000, 90_000, False),
        (80_000, 90_001, True),
        (400_000, 416_000, False),
        (400_000, 416_001, True),
    ],
)
def test_a_longer_rtt_ends_slow_start_with_the_ninth_sample(delay_min: int, rtt: int, ends: bool) -> None:
    cubic = Cubic(cwnd=16)
    acked(cubic, 0, segments=0, rtt=delay_min, una=1, nxt=100)
    for sample in range(9):  # of the next round, 3 ms apart: no train
        assert cubic.slow_start
        acked(cubic, 1_000_000 + 3_000 * sample, segments=0, rtt=rtt, una=101, nxt=200)
    assert cubic.slow_start != ends


def test_beyond_slow_start_a_round_trip_adds_a_twentieth_at_least() -> None:
    cubic = Cubic(cwnd=100, ssthresh=100)
    cubic.sent(100, True, 0, 100)
    for ack in range(50):  # two segments each
        acked(cubic, 1_000_000 + 100 * ack, segments=2)
    assert cubic.cwnd == 105


def test_cubic_grows_with_the_third_power_of_time_and_never_faster_than_by_half() -> None:
    cubic = Cubic(cwnd=100, ssthresh=100, is_cwnd_limited=True)
    acked(cubic, 1_000_000, segments=1)
    assert (cubic.epoch_start, cubic.origin_point, cubic.cnt) == (1000, 100, 20)
    acked(cubic, 4_990_000, segments=1)  # 0.4 x 4^3 = 25.6 above the origin: one for 100 // 25 ACKs
    assert cubic.cnt == 4
    acked(cubic, 9_990_000, segments=1)  # 0.4 x 9^3 = 291: one for every ACK, were it not for the bound
    assert cubic.cnt == 2
