"""Facts of a connection are those that its packets show."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.ext.explain.explaining import Facts, explain
from tests.ext.explain.captures import ACK, MSS, PSH, SYN, Packet, handshake, written


def _facts(tmp_path: Path, packets: list[Packet]) -> Facts:
    facts = explain(written(tmp_path, packets)).connections[0].facts
    assert facts
    return facts


def _at_the_receiver(rtt: float, first: float, turns: int, stamped: bool = False) -> list[Packet]:
    """Return flights of four segments, each a round trip after the ACK of the last; four fill the window."""
    packets = handshake(first, at="receiver")
    start, end = first + 1, 1
    for turn in range(turns):
        at = start + turn * rtt
        for number in range(4):
            stamps = (int(at - rtt / 2) + 1000, 1) if stamped else None
            packets.append(Packet(at + 0.1 * number, seq=end + number * MSS, size=MSS, stamps=stamps))
        end += 4 * MSS
        packets.append(Packet(at + 0.4, back=True, ack=end, window=4 * MSS, stamps=(1, 1) if stamped else None))
    return packets


def test_a_segment_that_an_ack_admitted_sooner_than_the_handshake_took_shows_a_shorter_round_trip(
    tmp_path: Path,
) -> None:
    facts = _facts(tmp_path, _at_the_receiver(20, 50, 20))
    assert facts.where.name == "receiver"
    assert facts.where.rtt == pytest.approx(19.7e6, abs=0.5e6)


def test_a_segment_that_overtook_others_shows_no_round_trip(tmp_path: Path) -> None:
    packets = _at_the_receiver(20, 20, 20)
    early = next(number for number, each in enumerate(packets) if each.size and each.ms > 100)
    last = packets[early + 3]
    packets[early + 3] = Packet(last.ms - 10.3, seq=last.seq, size=MSS)
    facts = _facts(tmp_path, packets)
    assert facts.where.rtt == pytest.approx(19.7e6, abs=0.5e6)


def test_messages_and_their_acks_show_the_place_without_a_handshake(tmp_path: Path) -> None:
    packets, end = [], 1
    for turn in range(10):
        packets.append(Packet(50 * turn, back=True, seq=1 + 100 * turn, ack=end, size=100, flags=ACK | PSH))
        packets.append(Packet(50 * turn + 20, seq=end, ack=101 + 100 * turn, size=MSS))
        end += MSS
        packets.append(Packet(50 * turn + 20.1, back=True, seq=101 + 100 * turn, ack=end))
    facts = _facts(tmp_path, packets)
    assert facts.where.name == "receiver"
    assert facts.where.rtt == pytest.approx(20.1e6, abs=1e4)
    assert not facts.missing


def test_an_ack_of_the_handshake_that_was_captured_too_early_is_not_the_round_trip(tmp_path: Path) -> None:
    ordered = [handshake(0.03)[0], Packet(0.02, seq=1, ack=1), Packet(0.03, back=True, seq=0, ack=1, flags=SYN | ACK)]
    ordered.append(Packet(0.1, back=True, seq=1, ack=1, size=100, flags=ACK | PSH))
    ordered.append(Packet(0.13, seq=1, ack=101))
    ordered += [Packet(5 * turn, seq=1 + 2 * MSS * (turn - 1), ack=101, size=MSS) for turn in range(1, 9)]
    ordered += [Packet(5 * turn + 0.03, back=True, ack=1 + MSS * (2 * turn - 1)) for turn in range(1, 9)]
    facts = _facts(tmp_path, ordered)
    assert facts.where.behind == pytest.approx(30_000, abs=1000)


@pytest.mark.parametrize("place", ["sender", "receiver"])
def test_the_initial_window_is_what_left_before_the_first_ack_was_known(tmp_path: Path, place: str) -> None:
    """A receiver acknowledges each second segment at once; the sender does not know it for a round trip."""
    packets, known = handshake(20, at=place), 20.0 if place == "receiver" else 0.0
    for number in range(10):
        at = 30 + 0.1 * number
        packets.append(Packet(at, seq=1 + number * MSS, size=MSS, stamps=(1000 + int(at), 1)))
        if number % 2:
            later = at + 0.01 + 20 - known
            packets.append(Packet(later, back=True, ack=1 + (number + 1) * MSS, stamps=(int(later), 1000 + int(at))))
    for number in range(10, 40):
        at = 51 + number
        packets.append(Packet(at, seq=1 + number * MSS, size=MSS, stamps=(1000 + int(at), 1)))
        packets.append(
            Packet(at + 20.01 - known, back=True, ack=1 + (number + 1) * MSS, stamps=(int(at) + 1, 1000 + int(at)))
        )
    assert _facts(tmp_path, packets).initial_window == 10 * MSS


def test_a_small_first_message_is_no_initial_window(tmp_path: Path) -> None:
    packets, end = handshake(20), 1
    for turn, size in enumerate([292, *[MSS] * 10], 1):
        packets.append(Packet(turn * 20, seq=end, size=size))
        end += size
        packets.append(Packet((turn + 1) * 20 - 1, back=True, ack=end))
    assert _facts(tmp_path, packets).initial_window is None


def test_a_capture_that_begins_in_the_middle_has_no_initial_window(tmp_path: Path) -> None:
    packets = _at_the_receiver(20, 20, 20, stamped=True)[3:]
    assert _facts(tmp_path, packets).initial_window is None
