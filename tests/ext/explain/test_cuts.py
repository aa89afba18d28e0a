"""At a receiver without timestamps, segments that are cut to the window's edge show that the window was full."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.ext.explain.explaining import Explanation
from lab.ext.explain.limits import Limit
from tests.ext.explain.captures import ACK, MSS, Packet, explained, handshake

RATE = 0.5  # ms for a full segment at the bottleneck
WINDOW = 65_536  # no multiple of MSS; it takes 22 ms at this rate, and the least round trip 20 ms


def _full_window(segments: int, cut_until: int, off: int = 0) -> list[Packet]:
    """Return what passes a receiver whose window is full behind a queue.

    Until a number of segments, the sender cuts one segment at a time to the window's edge, less `off` bytes.
    """
    sizes, sent, edge, acked, small = [], 1, 1 + WINDOW, 1, 0
    packets, at = handshake(20, scale=7, at="receiver"), 21.0
    for number in range(segments):
        while edge - sent >= MSS:
            sizes.append(MSS)
            sent += MSS
        if edge - sent > off and small <= acked and len(sizes) < cut_until:
            sizes.append(edge - sent - off)
            sent = small = edge - off
        packets.append(Packet(at, seq=sum(sizes[:number]) + 1, size=sizes[number], flags=ACK))
        if number % 2:
            acked = sum(sizes[: number + 1]) + 1
            edge = acked + WINDOW
            packets.append(Packet(at + 0.001, back=True, ack=acked, window=WINDOW >> 7))
        at += RATE * (sizes[number] + 54) / (MSS + 54)
    return packets


def _explained(tmp_path: Path, packets: list[Packet]) -> Explanation:
    found = explained(tmp_path, packets)
    assert found.facts
    assert found.facts.where.name == "receiver"
    return found


def test_one_segment_in_each_window_that_is_cut_to_its_edge_shows_a_full_window(tmp_path: Path) -> None:
    shares = _explained(tmp_path, _full_window(2000, cut_until=2000)).shares
    assert shares[Limit.WINDOW] > 0.9


@pytest.mark.parametrize(("cut_until", "off"), [(0, 0), (60, 0), (2000, 100)])
def test_neither_full_segments_nor_a_single_cut_nor_cuts_elsewhere_show_a_full_window(
    tmp_path: Path, cut_until: int, off: int
) -> None:
    assert Limit.WINDOW not in _explained(tmp_path, _full_window(2000, cut_until, off)).shares


def test_a_window_was_full_no_longer_than_the_cuts_go_on(tmp_path: Path) -> None:
    found = _explained(tmp_path, _full_window(2000, cut_until=1000))
    limits = [each.limit for each in found.stretches if each.seconds > 0.1]
    assert limits == [Limit.WINDOW, Limit.RATE]
    assert 0.4 < found.shares[Limit.WINDOW] < 0.55
