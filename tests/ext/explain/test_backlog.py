"""Queues at the bottleneck, full buffers, probes and slow writers are told apart, in captures written to have them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from lab.ext.explain.limits import Limit
from lab.ext.explain.rounds import Rounds, waits
from lab.metric.arrays import np
from tests.ext.explain.captures import MSS, Packet, explained, handshake, seq_of

MS = 1_000_000


def test_a_burst_waits_for_itself_at_the_bottleneck() -> None:
    left = np.array([0, 0, 0, 0, 2, 20]) * MS
    size, nothing = np.full(6, 1000), np.zeros(0, np.int64)
    found = waits(nothing, nothing, left, size, 1e6)  # one segment takes 1 ms
    assert (found // MS).tolist() == [1, 2, 3, 4, 3, 1]


def test_a_known_wait_replaces_what_was_computed() -> None:
    left = np.array([0, 1, 2, 30]) * MS
    found = waits(left[1:2], np.array([9 * MS]), left, np.full(4, 1000), 1e6)
    assert (found // MS).tolist() == [1, 9, 9, 1]


def test_without_a_capacity_segments_wait_like_the_last_known_one() -> None:
    left = np.array([0, 1, 2, 30]) * MS
    found = waits(left[1:2], np.array([9 * MS]), left, np.full(4, 1000), 0.0)
    assert found.tolist() == [-1, 9 * MS, 9 * MS, 9 * MS]


def test_a_wait_that_is_known_too_late_tells_nothing() -> None:
    """A batch may have a single known wait, after its last segment, as in a public capture."""
    rounds = Rounds.empty(0, 10 * MS, 4)
    late = np.array([30 * MS])
    rounds._wait(late, np.array([9 * MS]), np.array([MS]), np.array([1000]), 0.0)
    rounds._wait(late[:0], late[:0], late[:0], late[:0], 0.0)
    assert not rounds.waits.count.any()


@pytest.mark.parametrize(("later", "most"), [(20, Limit.RATE), (40, Limit.CWND)])
def test_an_ack_that_a_timer_held_back_is_no_queue(tmp_path: Path, later: int, most: Limit) -> None:
    packets, end, at = handshake(8, scale=7), 1, 9.0
    for _ in range(20):  # 0.1 ms for each segment at the bottleneck
        packets += [Packet(at + 0.001 * each, seq=end + each * MSS, size=MSS) for each in range(20)]
        packets += [
            Packet(at + 8 + 0.1 * each, back=True, ack=end + each * MSS, window=4000) for each in range(2, 21, 2)
        ]
        end, at = end + 20 * MSS, at + 10.01
    packets += [Packet(at, seq=end, size=MSS), Packet(at + 20, seq=end, size=MSS)]  # a loss
    end, at = end + MSS, at + 28.01
    packets.append(Packet(at - 0.01, back=True, ack=end, window=4000))
    for _ in range(60):  # one segment in flight
        packets += [Packet(at, seq=end, size=MSS), Packet(at + 8 + later, back=True, ack=end + MSS, window=4000)]
        end, at = end + MSS, at + 8 + later + 0.01
    shares = explained(tmp_path, packets).shares
    assert max(shares, key=lambda each: shares[each]) is most


def test_a_probe_with_new_data_is_not_the_programs(tmp_path: Path) -> None:
    packets, end = handshake(10, scale=7), 1
    packets += [Packet(11, seq=1, size=MSS), Packet(16, seq=1, size=MSS)]  # a loss
    for turn in range(40):  # the receiver holds its ACKs back
        at = 30 + 100 * turn
        packets += [Packet(at + 0.001 * each, seq=end + each * MSS, size=MSS) for each in range(10)]
        packets.append(Packet(at + 30, seq=end + 10 * MSS, size=MSS))
        end += 11 * MSS
        packets.append(Packet(at + 99.99, back=True, ack=end, window=4000))
    shares = explained(tmp_path, packets).shares
    assert shares.get(Limit.IDLE, 0.0) < 0.1


def test_a_full_window_with_room_for_long_leaves_the_limit_to_the_send_buffer(tmp_path: Path) -> None:
    packets, end, acked, at = handshake(20, scale=7), 1, 1, 21.0
    for _ in range(20):  # the window of 60 segments is full for 20 ms; then each ACK makes room, and nothing is sent
        count = 60 - (end - acked) // MSS
        packets += [Packet(at + 0.001 * each, seq=end + each * MSS, size=MSS) for each in range(count)]
        end += count * MSS
        for number in range(1, 13):  # TSO waits for a third of the window, so for seven of them
            acked += 3 * MSS
            packets.append(Packet(at + 20 + 5 * number, back=True, ack=acked, window=60 * MSS // 128))
        at += 80.01
    shares = explained(tmp_path, packets).shares
    assert shares[Limit.SEND_BUFFER] > 0.2
    assert shares[Limit.WINDOW] > 0.4


@pytest.mark.parametrize(
    ("tail", "later", "limit"), [(100, 0.4, Limit.IDLE), (100, 0, Limit.SEND_BUFFER), (MSS, 0, Limit.SEND_BUFFER)]
)
def test_at_the_receiver_small_segments_show_that_writes_end(
    tmp_path: Path, tail: int, later: float, limit: Limit
) -> None:
    """Writes come every 24 ms, as long as an ACK of the last write but one takes to return. ACKs are 1 ms apart.

    If every third write comes `later`, the program decides when. It is no chance that an ACK comes with each write.
    """
    packets, end = handshake(40, scale=7, at="receiver"), 1
    for turn in range(100):
        at = 50 + 24 * turn + later * (turn % 3 == 0)
        for number in range(20):
            size = MSS if number < 19 else tail
            stamps = (1000 + round(at), 500 + round(at) - 40)
            packets.append(Packet(at + number, seq=end, size=size, stamps=stamps))
            end += size
            stamps = (500 + round(at + number), stamps[0])
            packets.append(Packet(at + number + 0.01, back=True, ack=end, window=9000, stamps=stamps))
    shares = explained(tmp_path, packets).shares
    assert max(shares, key=lambda each: shares[each]) is limit


def test_without_timestamps_a_receiver_shows_the_congestion_window_while_no_queue_stands(tmp_path: Path) -> None:
    packets, end = handshake(40, scale=7, at="receiver"), 1
    packets += [Packet(40, seq=1 + MSS, size=MSS), Packet(82, seq=1, size=MSS)]  # a loss
    end += 2 * MSS
    for turn in range(60):
        at = 100 + 40 * turn
        for number in range(10):
            packets.append(Packet(at + number, seq=end, size=MSS))
            end += MSS
            packets.append(Packet(at + number + 0.01, back=True, ack=end, window=4000))
    shares = explained(tmp_path, packets).shares
    assert shares[Limit.CWND] > 0.8
    assert Limit.UNKNOWN not in shares


def test_data_behind_a_hole_uses_the_rate(tmp_path: Path) -> None:
    packets, end = handshake(20, scale=7), 1
    for number in range(1000):  # of 1 ms each, without a queue
        packets.append(Packet(21 + number, seq=end + number * MSS, size=MSS))
        if number >= 100:  # the first hundred are acknowledged, then a hole is
            block = struct.pack(">BBBBII", 1, 1, 5, 10, seq_of(1 + 101 * MSS), seq_of(1 + (number + 1) * MSS))
            packets.append(Packet(41 + number, back=True, ack=1 + 100 * MSS, window=60000, options=block))
        else:
            packets.append(Packet(41 + number, back=True, ack=1 + (number + 1) * MSS, window=60000))
    assert explained(tmp_path, packets).shares[Limit.RATE] > 0.8
