"""`lab explain --rebuild` finds programs, and BBR, of which the windows and the pauses show little."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.units import Duration
from tests.ext.explain.captures import ACK, FIN, Packet, handshake, measured, planned

RTT = 20.0  # ms
MSS = 1460
OPEN = 4000  # the window's field: 512 kB with a scale of 7


def _sent(at: float, start: int, end: int) -> list[Packet]:
    return [Packet(at, seq=number, size=min(MSS, end - number)) for number in range(start, end, MSS)]


def test_what_is_read_after_the_last_byte_does_not_hide_the_period(tmp_path: Path) -> None:
    """A read of more than the buffer holds goes on as data arrives: after the last byte, not after a period."""
    packets, window, block, end = handshake(RTT), 40_000, 30_000, 1
    for turn in range(5):  # the accept, and four reads that an ACK announces
        at, until = 1.5 * RTT + 200 * turn + (RTT / 2 if turn else 0), 1 + window + turn * block
        until = min(until, 1 + 5 * block)
        packets += [Packet(at, back=True, ack=end, window=until - end)] if turn else []
        packets += _sent(at + 0.01, end, until)
        packets.append(Packet(at + RTT + 0.01, back=True, ack=until, window=0))
        end = until
    packets.append(Packet(900, back=True, ack=end, window=window))
    packets.append(Packet(2 * RTT + 1000, back=True, ack=end, window=window, flags=ACK | FIN))
    fields = planned(tmp_path, packets).program.fields
    assert (fields["block"], fields["rate"]) == (f"{block} B", "1.2 Mbit/s")


@pytest.mark.parametrize(("closes", "kind"), [(1000, "PacedReader"), (440, "Bulk")])
def test_a_reader_that_ends_long_after_the_data_shows_its_rate(tmp_path: Path, closes: float, kind: str) -> None:
    """An open window hides the reads, but the first one is announced, and the FIN follows the last one."""
    packets, end = handshake(RTT, scale=7), 1
    for turn in range(1, 21):
        packets += _sent(turn * RTT, end, end + 10 * MSS)
        end += 10 * MSS
        packets.append(Packet((turn + 1) * RTT, back=True, ack=end, window=OPEN - 10 * turn))
        if turn == 6:  # 100 ms after the accept
            packets.append(Packet(2 * RTT + 100, back=True, ack=end, window=OPEN))
    packets.append(Packet(21 * RTT, seq=end, flags=ACK | FIN))
    packets.append(Packet(2 * RTT + closes, back=True, ack=end + 1, window=OPEN, flags=ACK | FIN))
    program = planned(tmp_path, packets).program
    assert program.kind == kind
    assert program.fields.get("block") == (f"{20 * MSS} B" if kind == "PacedReader" else None)


def test_writes_more_frequent_than_round_trips_have_the_size_that_divides_their_ends(tmp_path: Path) -> None:
    """Nagle lets one small segment leave in a round trip. It ends a write, so each ends at a multiple of 5,850 B."""
    packets, seq, small = handshake(RTT, scale=7), 1, 0.0
    for turn in range(1200):
        at, until = 2 * RTT + 0.7 * turn, 1 + 5850 * (turn + 1)
        rest, back = (until - seq) % MSS, RTT + 0.35 + 2.1 * (turn // 40 % 5)  # a queue makes round trips longer
        if at < small:
            until -= rest
        elif rest:
            small = at + back
        packets += _sent(at, seq, until)
        packets.append(Packet(at + back, back=True, ack=until, window=OPEN))
        seq = until
    packets += _sent(small, seq, 1 + 5850 * 1200)
    packets.append(Packet(small + RTT, back=True, ack=1 + 5850 * 1200, window=OPEN))
    fields = planned(tmp_path, packets).program.fields
    assert fields["block"] == "5850 B"
    assert Duration.of(str(fields["effort"])).ns == pytest.approx(650_000, rel=0.01)


@pytest.mark.parametrize(("each", "name"), [(8, "bbr"), (1000, None)])
def test_gaps_that_no_ack_ended_show_bbr_although_a_window_releases_most_segments(
    tmp_path: Path, each: int, name: str | None
) -> None:
    packets, two = handshake(RTT, scale=7), 2 * MSS
    packets += [Packet(2 * RTT + 0.001 * turn, seq=1 + two * turn, size=two) for turn in range(10)]
    for turn in range(400):
        at = 3 * RTT + 2 * turn
        packets.append(Packet(at, back=True, ack=1 + two * (turn + 1), window=OPEN))
        late = 1.2 if turn % each == each - 1 else 0.01
        packets.append(Packet(at + late, seq=1 + two * (turn + 10), size=two))
    assert measured(tmp_path, packets).congestion == name


def test_a_sender_whose_segments_follow_acks_is_not_bbr_although_it_keeps_its_flight(tmp_path: Path) -> None:
    """A send buffer limits the flight, so that losses do not make it smaller. BBR would pace (SK_PACING_NEEDED)."""
    packets, at, seq, flight = handshake(RTT, scale=7), 2 * RTT, 1, 20 * MSS
    for _ in range(6):
        for _ in range(8):
            packets += _sent(at, seq, seq + flight)
            packets.append(Packet(at + RTT, back=True, ack=seq + flight, window=OPEN))
            seq, at = seq + flight, at + RTT
        packets += _sent(at, seq, seq + flight)
        packets += [Packet(at + RTT + 0.1 * turn, back=True, ack=seq, window=OPEN) for turn in range(4)]
        packets.append(Packet(at + RTT + 1, seq=seq, size=MSS))
        packets.append(Packet(at + 2 * RTT + 1, back=True, ack=seq + flight, window=OPEN))
        seq, at = seq + flight, at + 2 * RTT + 1
    packets += _sent(at, seq, seq + flight)
    packets.append(Packet(at + RTT, back=True, ack=seq + flight, window=OPEN))
    assert measured(tmp_path, packets).congestion is None
