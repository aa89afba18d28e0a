"""Pacing and a full send buffer are told from a full window and from a slow program."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.ext.explain.limits import Limit
from tests.ext.explain.captures import MS, MSS, Packet, explained, handshake


def test_a_pacer_waits_for_its_timer_although_it_fills_the_window_at_last(tmp_path: Path) -> None:
    """The kernel asks the timer before the window (tcp_write_xmit), so that only the rest is limited by the window.

    In each 30 ms, the timer takes 19 ms, and the full window 11 ms. These are two rounds of 10 ms with most of their
    time at the timer, and one at the window. Slow start is over after three round trips.
    """
    packets, end = handshake(30), 1
    for turn in range(1, 30):
        packets += [Packet(30 * turn + number, seq=end + number * MSS, size=MSS) for number in range(20)]
        end += 20 * MSS
        packets.append(Packet(30 * turn + 29.999, back=True, ack=end, window=20 * MSS))
    found = explained(tmp_path, packets)
    times = dict.fromkeys(Limit, 0)
    for each in found.stretches:  # of the round trips 4 to 28
        start, end = found.start + 120 * MS, found.start + 870 * MS
        times[each.limit] += max(min(each.end, end) - max(each.start, start), 0)
    assert times[Limit.PACING] == 25 * 20 * MS
    assert times[Limit.WINDOW] == 25 * 10 * MS


@pytest.mark.parametrize(
    ("write", "later", "limit"), [(30, 0.7, Limit.SEND_BUFFER), (24, 0, Limit.SEND_BUFFER), (24, 0.7, Limit.IDLE)]
)
def test_a_gap_within_a_write_is_the_send_buffers_at_the_receiver_too(
    tmp_path: Path, write: int, later: float, limit: Limit
) -> None:
    """The program sends 24 segments each time that all but six are acknowledged. The last of each write is small.

    If this is the end of a write each time, the program may be as slow as that. But if an ACK, which comes every 1.5
    ms, ends each pause within 0.02 ms, this is no chance. Every other pause ends `later`.
    """
    packets, sent, seq, leaves, free = handshake(60, scale=7, at="receiver"), 0, 1, 61.0, 0.0
    arrivals: list[float] = []
    for turn in range(30):
        for _ in range(24):
            sent += 1
            size = MSS if sent % write else 500
            free = max(free, leaves + 30) + 1.5  # a bottleneck with a queue
            packets.append(Packet(free, seq=seq, size=size, stamps=(int(leaves), 1)))
            seq += size
            packets.append(Packet(free + 0.01, back=True, ack=seq, window=4000, stamps=(int(free), int(leaves))))
            arrivals.append(free)
        leaves = arrivals[sent - 7] + 30.02 + later * (turn % 2)
    found = explained(tmp_path, packets)
    assert found.facts is not None
    assert found.facts.where.name == "receiver"
    assert max(found.shares, key=lambda each: found.shares[each]) is limit
