"""At a receiver without timestamps, super-packets show that data left when it was written, and pairs show the rate."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from lab.ext.explain.exchange import NEVER
from lab.ext.explain.explaining import look_closely
from lab.ext.explain.limits import Limit
from lab.ext.explain.place import capacity, super_packets
from lab.ext.explain.units import unclocked
from lab.metric.arrays import np
from tests.ext.explain.captures import ACK, MS, MSS, PSH, START, Packet, explained, handshake, seq_of, written

RATE = 0.5  # ms for a full segment at the bottleneck


def _passed(unit: int, each: int = 2, pause: float = 0.0, count: int = 2000, step: int = 1) -> list[Packet]:
    """Return segments that pass without a pause, in super-packets of `unit`, and an ACK of every `each` of them.

    After every `step` super-packets, the bottleneck is idle for `pause` ms.
    """
    packets, seq, at = handshake(20, scale=7, at="receiver"), 1, 21.0
    for number in range(count):
        last = number % unit == unit - 1
        packets.append(Packet(at, seq=seq, size=MSS, flags=ACK | PSH if last else ACK))
        seq += MSS
        if number % each == each - 1:
            packets.append(Packet(at + 0.001, back=True, ack=seq, window=9000))
        at += RATE + (pause if last and number // unit % step == step - 1 else 0)
    return packets


@pytest.mark.parametrize(
    ("unit", "each", "limit"),
    [
        (40, 2, Limit.SEND_BUFFER),
        (8, 2, Limit.RATE),  # in slow start, twice the two segments of a millisecond, and of the ACK behind it
        (40, 20, Limit.RATE),  # such an ACK releases a super-packet
        (40, 1, Limit.RATE),  # segments may have left alone
        (2000, 2, Limit.RATE),  # no super-packet is that large
    ],
)
def test_a_super_packet_that_no_ack_can_release_shows_a_full_buffer(
    tmp_path: Path, unit: int, each: int, limit: Limit
) -> None:
    shares = explained(tmp_path, _passed(unit, each)).shares
    assert shares[limit] > 0.9


def test_a_program_that_pauses_is_no_full_buffer_although_its_writes_are_large(tmp_path: Path) -> None:
    """Four super-packets pass at the bottleneck's rate, which then is idle for a quarter of the time."""
    shares = explained(tmp_path, _passed(40, pause=27, step=4)).shares
    assert shares.get(Limit.SEND_BUFFER, 0.0) < 0.1


def test_after_a_loss_segments_may_leave_alone(tmp_path: Path) -> None:
    """For 60 ms, ACKs select what is behind a hole. As long afterwards, and a round trip, no super-packet counts."""
    hole = 3 + 3 * 400  # the first of a super-packet
    lost, packets = _passed(40)[hole], []
    for each in _passed(40):
        if each.back and lost.ms < each.ms < lost.ms + 60:
            block = struct.pack(">BBBBII", 1, 1, 5, 10, seq_of(lost.seq + MSS), seq_of(each.ack))
            packets.append(replace(each, ack=lost.seq, options=block))
        else:
            packets.append(replace(each, ms=lost.ms + 60) if each == lost else each)
    found = look_closely(written(tmp_path, packets)).found
    large = unclocked(found, MSS)
    since = (found.time - START) / MS - lost.ms
    assert large[since < 0].all()
    assert not large[(since > 1) & (since < 139)].any()
    assert large[since > 162].all()


def test_pairs_show_the_rate_that_no_larger_group_does(tmp_path: Path) -> None:
    """Two segments leave with each ACK, and the bottleneck is idle for five of six milliseconds."""
    packets = _passed(2, pause=5)
    found = look_closely(written(tmp_path, packets))
    assert found.explanation.facts is not None
    rate = capacity(found.found, found.explanation.facts.where, MSS)
    assert rate == pytest.approx(MSS / RATE * 1e3, rel=0.01)
    assert found.explanation.shares.get(Limit.RATE, 0.0) < 0.05


@pytest.mark.parametrize(("write", "limit"), [(100, Limit.SEND_BUFFER), (600, Limit.RATE)])
def test_ends_of_writes_that_do_not_wait_show_that_nothing_is_queued(tmp_path: Path, write: int, limit: Limit) -> None:
    """Pairs pass without a pause. The end of each write leaves as a small segment, ten times or once."""
    packets, missing = [], 0
    for number, each in enumerate(_passed(2)):
        tail = not each.back and each.size and number // 3 % write == write - 1 and number % 3 == 1
        packets.append(replace(each, seq=each.seq - missing, ack=each.ack - (missing if each.back else 0)))
        if tail:
            packets[-1] = replace(packets[-1], size=700)
            missing += MSS - 700
    assert explained(tmp_path, packets).shares[limit] > 0.75


def test_a_queue_that_grows_for_long_does_not_hide_the_senders_clock(tmp_path: Path) -> None:
    """Segments leave every 0.4 ms, and arrive every millisecond. Timestamps seem to have 2.5 ms."""
    packets = handshake(20, scale=7, at="receiver")
    for number in range(2000):
        left, came = 21 + 0.4 * number, 21.0 + number
        seq = 1 + number * MSS
        packets.append(Packet(came, seq=seq, size=MSS, stamps=(1000 + int(left), 500 + max(int(left - 20), 0))))
        packets.append(Packet(came, back=True, ack=seq + MSS, window=60000, stamps=(500 + int(came), 1000 + int(left))))
    found = look_closely(written(tmp_path, packets)).found
    assert (found.queued != NEVER).all()
    assert found.queued[-1] == pytest.approx(0.6 * 2000 * MS, rel=0.01)


def test_a_segment_right_behind_a_super_packet_is_no_part_of_it() -> None:
    """Super-packets of 45 segments pass every 3.8 ms, each with a small one behind, which takes 0.085 ms by itself."""
    time, size = [], []
    for number in range(20):
        time += [3_900_000 * number] * 45 + [3_900_000 * number + 85_000]
        size += [MSS] * 46
    first = super_packets(np.array(time), np.array(size))
    assert first.tolist() == ([True] + [False] * 44 + [True]) * 20
