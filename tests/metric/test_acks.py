"""ACKs counted and timed on a capture made by hand: a packet a second, segments of 100 bytes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lab import metric
from lab.metric import Capture, MetricError, bulk
from lab.metric.acks import ack_delays, hole
from lab.record.record import Record
from lab.units import Value
from tests.kinds import Keep, Save, Segment


@pytest.fixture
def opening(segment: Segment) -> list[bytes]:
    """A handshake with an MSS of 100 one way and 200 the other."""
    return [segment(True, 100, 0, "S", mss=200), segment(False, 500, 101, "SA", mss=100), segment(True, 101, 501)]


@pytest.fixture
def captured(opening: list[bytes], save: Save, record: Keep) -> Callable[..., Record]:
    """Keeps a receiver's capture of the handshake and these packets."""
    return lambda *packets: record({"capture.receiver.eth0.pcap": save([*opening, *packets]).read_bytes()})


def test_segments_are_counted_by_payload(captured: Callable[..., Record], segment: Segment) -> None:
    """From the first ACK to the last, five segments in two packets; an ACK with data is none."""
    done = captured(
        *(segment(True, 101, 501, size=100), segment(False, 501, 201), segment(True, 201, 501, size=400)),
        *(segment(False, 501, 601, size=5), segment(False, 506, 601), segment(True, 601, 506, size=100)),
        *(segment(False, 506, 701), segment(False, 506, 701)),
    )
    assert metric.segments_per_ack(0, 7)(done) == Value(2.5, "1")
    assert metric.packets_per_gb(0, 7)(done) == Value(1e9 * (3 + 3) / 600, "1")
    with pytest.raises(MetricError, match="fewer than two ACKs between 7 s and 9 s"):
        metric.segments_per_ack(7, 9)(done)


def test_without_the_handshake_a_full_segment_is_unknown(record: Keep, save: Save, segment: Segment) -> None:
    packets = [segment(True, 101, 501, size=100), segment(False, 501, 201), segment(False, 501, 201)]
    done = record({"capture.receiver.eth0.pcap": save(packets).read_bytes()})
    with pytest.raises(MetricError, match="a SYN was not captured"):
        metric.segments_per_ack(0, 5)(done)
    with pytest.raises(MetricError, match="who opened the connection"):
        metric.acks_at_once()(done)


def test_an_ack_may_come_with_the_answer(captured: Callable[..., Record], segment: Segment) -> None:
    """One request answered after a second by data that acknowledges it, and one after two; the answers do not count."""
    done = captured(
        *(segment(True, 101, 501, size=1), segment(False, 501, 102, size=90), segment(True, 102, 591)),
        *(segment(True, 102, 591, size=1), segment(False, 591, 102), segment(False, 591, 103)),
    )
    assert ack_delays(bulk(metric.capture_of(done, "receiver"))).tolist() == [1_000_001_000, 2_000_002_000]
    assert metric.ack_delay("mean")(done) == Value(1.500001, "s")  # to the microsecond
    assert metric.ack_delay("max", skip=1)(done) == Value(2.000002, "s")
    assert metric.acks_at_once()(done) == Value(0, "1")
    with pytest.raises(MetricError, match="no more than 2 data segments"):
        metric.ack_delay("min", skip=2)(done)


def test_acks_behind_a_hole(captured: Callable[..., Record], segment: Segment) -> None:
    done = captured(
        *(segment(True, 101, 501, size=100), segment(False, 501, 201)),
        *(segment(True, 301, 501, size=100), segment(False, 501, 201)),
        *(segment(True, 401, 501, size=100), segment(True, 501, 501, size=100), segment(False, 501, 201)),
        *(segment(True, 201, 501, size=100), segment(False, 501, 601)),
    )
    behind, acks = hole(bulk(metric.capture_of(done, "receiver")))
    assert (len(behind), len(acks)) == (3, 2)
    assert metric.acks_after_hole()(done) == Value(2 / 3, "1")


@pytest.mark.parametrize(("seq", "message"), [(201, "there is no hole"), (301, "never filled")])
def test_no_hole_or_one_that_stays(captured: Callable[..., Record], segment: Segment, seq: int, message: str) -> None:
    with pytest.raises(MetricError, match=message):
        metric.acks_after_hole()(captured(segment(True, 101, 501, size=100), segment(True, seq, 501, size=100)))


def test_virtual_time_has_no_cpu_cost(record: Keep) -> None:
    with pytest.raises(MetricError, match="computing takes no time"):
        metric.cpu_per_gb()(record({"cpu.json": b"{}"}))


def test_a_recorded_hole() -> None:
    """Linux 7.2, one segment of 140 lost: three ACKs at once, one for 45 segments, one for the last 21."""
    connection = bulk(Capture(Path(__file__).parents[1] / "data" / "hole.pcap"))
    behind, acks = hole(connection)
    known = np.searchsorted(connection.forward.time_ns[behind], connection.back.time_ns[acks], side="right")
    assert known.tolist() == [1, 2, 3, 48, 69]
