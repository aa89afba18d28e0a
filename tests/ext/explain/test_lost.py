"""What a capture shows as lost, at both ends, and what becomes of it in the rebuilt experiment."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

from lab.ext.explain import files
from lab.ext.explain.explaining import look_closely
from lab.ext.explain.lost import lost
from lab.ext.explain.planning import plan
from lab.spec import find
from tests.ext.explain.captures import ISN, MSS, Packet, handshake, written

RTT = 40.0
MOST = 100


def _selecting(ack: int, left: int, right: int, ms: float) -> Packet:
    """Return an ACK of the receiver that selects the bytes from `left` to `right`."""
    block = struct.pack(">BBBBII", 1, 1, 5, 10, (ISN + left) % 2**32, (ISN + right) % 2**32)
    return Packet(ms, back=True, ack=ack, options=block)


def _segment(number: int, ms: float, count: int = 1) -> Packet:
    return Packet(ms, seq=1 + number * MSS, size=count * MSS)


def _end(number: int) -> int:
    return 1 + number * MSS


def _lost(tmp_path: Path, packets: list[Packet], most: int = MOST) -> list[tuple[int, int]] | None:
    found = lost(look_closely(written(tmp_path, packets)), most)
    return None if found is None else [((number - 1) // MSS, sending) for number, sending in found]


def _twice_lost() -> list[Packet]:
    """Return a transfer of ten segments at the sender, of which segment 3 is lost when sent first and second."""
    packets = [*handshake(RTT), *(_segment(number, 50 + number) for number in range(10))]
    packets += [Packet(90 + number, back=True, ack=_end(number + 1)) for number in range(3)]
    packets += [_selecting(_end(3), _end(4), _end(number + 1), 90 + number) for number in range(4, 10)]
    packets += [_segment(3, 100), _segment(3, 400), Packet(440, back=True, ack=_end(10))]
    packets += [_segment(10, 441), Packet(481, back=True, ack=_end(11))]
    return packets


def test_each_lost_transmission_is_found_at_the_sender(tmp_path: Path) -> None:
    assert _lost(tmp_path, _twice_lost()) == [(3, 1), (3, 2)]
    assert _lost(tmp_path, _twice_lost(), most=1) is None


def test_a_retransmission_of_what_had_arrived_is_no_loss(tmp_path: Path) -> None:
    late = [*handshake(RTT), _segment(0, 50), _segment(0, 120), Packet(130, back=True, ack=_end(1))]
    late += [_selecting(_end(1), _end(0), _end(1), 160), _segment(1, 170), Packet(210, back=True, ack=_end(2))]
    assert _lost(tmp_path, late) == []


def test_a_large_retransmission_shows_each_of_its_segments(tmp_path: Path) -> None:
    packets = [*handshake(RTT), _segment(0, 50), _segment(1, 50.1), _segment(2, 50.2)]
    packets += [Packet(90, back=True, ack=_end(1)), _segment(1, 300, 2), Packet(340, back=True, ack=_end(3))]
    packets += [_segment(3, 341), _segment(4, 341.1), Packet(381, back=True, ack=_end(5))]
    assert _lost(tmp_path, packets) == [(1, 1), (2, 1)]


def _at_the_receiver(filled: float) -> list[Packet]:
    """Return a transfer at the receiver, whose segment 5 is missing until `filled` (ms)."""
    packets, stamp = list[Packet](), round
    for number in [*range(5), *range(6, 40)]:
        packets.append(replace(_segment(number, 60 + 2 * number), stamps=(40 + 2 * number, 1)))
        ack = _end(min(number + 1, 5))
        packets.append(
            replace(Packet(60.1 + 2 * number, back=True, ack=ack), stamps=(60 + 2 * number, 40 + 2 * number))
        )
    packets.append(replace(_segment(5, filled), stamps=(stamp(filled) - 20, 60)))
    packets.append(replace(Packet(filled + 0.1, back=True, ack=_end(40)), stamps=(stamp(filled), stamp(filled) - 20)))
    opening = [replace(each, stamps=(1 + stamp(each.ms), 0)) for each in handshake(RTT, at="receiver")]
    return [*opening, *packets]


def test_a_hole_shows_a_loss_at_the_receiver_and_the_time_until_it_is_filled_shows_how_often(tmp_path: Path) -> None:
    assert _lost(tmp_path, _at_the_receiver(filled=114)) == [(5, 1)]
    assert _lost(tmp_path, _at_the_receiver(filled=330)) == [(5, 1), (5, 2)]


def test_the_experiment_lists_what_the_capture_shows_as_lost(tmp_path: Path) -> None:
    made = plan(look_closely(written(tmp_path, _twice_lost())))
    assert made.lost == ((3 * MSS, 1), (3 * MSS, 2))
    text = files.check(made, "capture.pcap")
    assert f"LostSegment({3 * MSS})" in text
    assert f"LostSegment({3 * MSS}, 2)" in text
    assert "samples=" not in text
    files.write(made, "capture.pcap", "", tmp_path / "again")
    (case,) = [each for each in find.find([str(tmp_path / "again")])[1].cases() if each.arm == "goodput"]
    (box,) = case.middleboxes
    assert [(each.byte, each.sending) for each in box.segments] == list(made.lost)  # type: ignore[attr-defined]
    assert case.network.links[0].forward.loss == 0
