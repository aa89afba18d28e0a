"""What each segment acknowledges and repeats is what the capture's own numbers say."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.ext.export.segments import TracedConnection, TracedSegment, Unacknowledged, ranges, traced
from lab.metric import Capture, bulk
from lab.metric.packets import ACK
from lab.record.record import Record
from tests.ext.export.conftest import DATA, Make

SIZE = 10  # bytes of each segment in the model


def of(record: Record) -> tuple[TracedConnection, list[TracedSegment]]:
    (found,) = traced(record)
    return found, list(found.segments())


def test_a_capture_is_followed_segment_by_segment_in_its_order(lossy: Record) -> None:
    found, segments = of(lossy)
    capture = Capture(DATA / "lossy.pcap")
    assert found.name == "10.0.1.1:37912 > 10.0.1.2:5001"
    assert (found.node, found.interface, found.sent, found.passing) == ("sender", "eth0", True, False)
    assert [each.time_ns for each in segments] == capture.time_ns[capture.tcp].tolist()
    for sent in (True, False):
        numbers = [each.number for each in segments if each.sent == sent]
        assert numbers == list(range(len(numbers)))
    assert sum(each.payload for each in segments if each.sent) == int(bulk(capture).forward.payload.sum())
    assert len(found.samples) == 1
    assert len(found.samples[0]) == 17


def test_each_transmission_is_acknowledged_once_or_repeated(lossy: Record) -> None:
    _, segments = of(lossy)
    sent = [each for each in segments if each.sent]
    acknowledged = [n for each in segments if not each.sent for a, b in each.acknowledged for n in range(a, b + 1)]
    repeated = [each.repeats for each in sent if each.repeats is not None]
    assert len(acknowledged) == len(set(acknowledged))
    assert len(repeated) == len(set(repeated)) > 0
    assert not set(acknowledged) & set(repeated)
    last = max(each.ack for each in segments if not each.sent)
    left = {each.number for each in sent if each.payload} - {*acknowledged} - {*repeated}
    assert all(sent[number].seq >= last for number in left), "all data below the last ACK is acknowledged"


def test_bytes_in_flight_are_those_of_the_metric(lossy: Record) -> None:
    _, segments = of(lossy)
    ours = [each.in_flight for each in segments if each.sent]
    assert ours == bulk(Capture(DATA / "lossy.pcap")).inflight.tolist()


def test_sacked_segments_are_acknowledged_before_the_hole_is_filled(lossy: Record) -> None:
    _, segments = of(lossy)
    sent = {each.number: each for each in segments if each.sent}
    early = [
        number
        for each in segments
        if not each.sent
        for first, last in each.acknowledged
        for number in range(first, last + 1)
        if sent[number].seq > each.ack
    ]
    assert early, "SACK blocks acknowledge data above the ACK"


def test_every_connection_of_a_capture_is_followed(make: Make) -> None:
    record = make({"capture.sender.eth0.pcap": DATA / "transfer.pcap"})
    found = list(traced(record))
    capture = Capture(DATA / "transfer.pcap")
    assert [each.flow.source_port for each in found] == [51320, 51322]
    assert sum(len(list(each.segments())) for each in found) == int(capture.tcp.sum())
    assert all(each.passing for each in found), "the addresses are of no node of this network"


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, int]]:
    """Sends and ACKs of segments of equal size: ("send", index), ("ack", index), ("sack", index)."""
    events: list[tuple[str, int]] = []
    reached = 0
    for kind in draw(st.lists(st.sampled_from(["new", "again", "ack", "sack"]), max_size=60)):
        if kind == "new":
            events.append(("send", reached))
            reached += 1
        elif reached:
            events.append((kind.replace("again", "send"), draw(st.integers(0, reached - 1))))
    return events


@given(histories())
def test_what_waits_for_an_ack_is_what_a_plain_list_holds(events: list[tuple[str, int]]) -> None:
    waiting, plain, number = Unacknowledged(), dict[int, int](), 0
    for kind, index in events:
        if kind == "send":
            assert waiting.send(index * SIZE, (index + 1) * SIZE, number) == plain.get(index)
            plain[index] = number
            number += 1
            continue
        gone = [each for each in plain if (each <= index if kind == "ack" else each == index)]
        ack, blocks = ((index + 1) * SIZE, ()) if kind == "ack" else (0, ((index * SIZE, (index + 1) * SIZE),))
        found = waiting.acknowledge(ack, blocks)
        if kind == "ack":
            assert found == ranges([plain.pop(each) for each in gone])
        else:  # a segment that is sent again after its SACK waits for the ACK
            numbers = [n for first, last in found for n in range(first, last + 1)]
            assert numbers in ([], [plain.get(index)])
            if numbers:
                del plain[index]
    last = waiting.acknowledge(10**9, ())
    assert last == ranges(list(plain.values()))


@given(st.sets(st.integers(0, 100)))
def test_ranges_hold_exactly_the_numbers(numbers: set[int]) -> None:
    found = ranges(list(numbers))
    assert {n for first, last in found for n in range(first, last + 1)} == numbers
    assert all(this[1] + 1 < following[0] for this, following in itertools.pairwise(found))


def test_a_growing_sack_block_gives_each_segment_once() -> None:
    waiting = Unacknowledged()
    for number in range(10):
        waiting.send(number * SIZE, (number + 1) * SIZE, number)
    assert waiting.acknowledge(0, ((20, 40),)) == [[2, 3]]
    assert waiting.acknowledge(0, ((60, 80), (20, 50))) == [[4, 4], [6, 7]]
    assert waiting.acknowledge(0, ((20, 90),)) == [[5, 5], [8, 8]]
    assert waiting.acknowledge(100, ()) == [[0, 1], [9, 9]]


def test_transmissions_without_an_ack_are_forgotten_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.ext.export.segments._MOST", 5)
    waiting = Unacknowledged()
    for number in range(20):
        waiting.send(number * SIZE, (number + 1) * SIZE, number)
    assert waiting.acknowledge(10**6, ()) == [[15, 19]]


def test_a_segment_without_an_ack_flag_has_no_ack(lossy: Record) -> None:
    _, segments = of(lossy)
    assert [each.ack for each in segments if not each.flags & ACK] == [-1]
