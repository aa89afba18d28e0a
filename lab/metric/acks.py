"""Measure how often and how soon a receiver sends ACKs, and for which segments, from a capture at its interface.

The number of segments is payload / MSS, because with GRO, a capture shows super-packets of many segments.
"""

from __future__ import annotations

from typing import Literal

from lab.metric.arrays import Bools, Ints, np
from lab.metric.capture import Capture
from lab.metric.flow import Connection, Segments, bulk
from lab.metric.metrics import capture_of, header_lengths
from lab.metric.packets import ACK, SYN
from lab.record.record import Record
from lab.spec.metric import Measure, MetricError, measures
from lab.units import Value

AT_ONCE = 1e-3  # seconds: one jiffy, far less than the wait of any delayed ACK


@measures("1")
def segments_per_ack(start: float, end: float, node: str = "receiver", interface: str | None = None) -> Measure:
    """Measure full segments per pure ACK, from the bytes that the ACKs between `start` and `end` acknowledge.

    Both times are in seconds since the first data segment.
    """

    def measure(record: Record) -> Value:
        capture = capture_of(record, node, interface)
        connection = bulk(capture)
        count, first, last = 0, 0, 0
        for back in (part.back for part in connection.parts()):
            numbers = back.ack[back.pure_ack & _within(connection, back, start, end)]
            if len(numbers):
                first, last = first if count else int(numbers[0]), int(numbers[-1])
                count += len(numbers)
        if count < 2:
            raise MetricError(f"there are fewer than two ACKs between {start:g} s and {end:g} s")
        acked = (last - first) / full_segment(capture, connection)
        return Value(acked / (count - 1), "1")

    return measure


@measures("1")
def packets_per_gb(start: float, end: float, node: str = "receiver", interface: str | None = None) -> Measure:
    """Count the packets that the receiver's TCP handles per GB of payload: data packets after GRO, and ACKs.

    `start` and `end` are in seconds since the first data segment.
    """

    def measure(record: Record) -> Value:
        connection = bulk(capture_of(record, node, interface))
        packets = payload = 0
        for ahead, back in ((part.forward, part.back) for part in connection.parts()):
            data = ahead.data & _within(connection, ahead, start, end)
            acks = back.pure_ack & _within(connection, back, start, end)
            packets += int(data.sum() + acks.sum())
            payload += int(ahead.payload[data].sum())
        if not payload:
            raise MetricError(f"there is no data between {start:g} s and {end:g} s")
        return Value(1e9 * packets / payload, "1")

    return measure


@measures("s", by=lambda given: "mean" if given["which"] == "mean" else "median")
def ack_delay(
    which: Literal["min", "mean", "max"], skip: int = 0, node: str = "receiver", interface: str | None = None
) -> Measure:
    """Measure the shortest, mean or longest of `ack_delays`, without the first `skip` segments.

    The result is in seconds, rounded to the microsecond. The guest's clock has a resolution of 0.25 us.
    """

    def measure(record: Record) -> Value:
        delays = ack_delays(bulk(capture_of(record, node, interface)))[skip:]
        if not len(delays):
            raise MetricError(f"no more than {skip} data segments were acknowledged")
        return Value(round(float(getattr(np, which)(delays)) / 1e9, 6), "s")

    return measure


@measures("1")
def acks_at_once(node: str = "receiver", interface: str | None = None) -> Measure:
    """Count the data segments, from the first on, that were all acknowledged at once."""

    def measure(record: Record) -> Value:
        late = ack_delays(bulk(capture_of(record, node, interface))) > AT_ONCE * 1e9
        return Value(int(np.argmax(late)) if late.any() else len(late), "1")

    return measure


@measures("1")
def acks_after_hole(node: str = "receiver", interface: str | None = None) -> Measure:
    """Count the pure ACKs per segment that arrived behind the first hole."""

    def measure(record: Record) -> Value:
        behind, acks = hole(bulk(capture_of(record, node, interface)))
        return Value(len(acks) / len(behind), "1")

    return measure


def ack_delays(connection: Connection) -> Ints:
    """Return the time, in nanoseconds, that each data segment of the connection's opener waited for its ACK.

    An ACK that carries data counts as well. Segments that were never acknowledged are omitted.
    """
    asking, answering = _by_opener(connection)
    acked = np.maximum.accumulate(answering.ack) if len(answering) else answering.ack
    first = np.searchsorted(acked, asking.end[asking.data])
    known = first < len(acked)
    delays: Ints = answering.time_ns[first[known]] - asking.time_ns[asking.data][known]
    return delays


def hole(connection: Connection) -> tuple[Ints, Ints]:
    """Return (data segments, ACKs) at the first hole, as rows of `forward` and `back`.

    The data segments arrived behind the hole before it was filled. In the meantime, the ACKs requested the missing
    bytes. Raises MetricError if all segments arrived in order, or if the hole was never filled.
    """
    ahead, back = connection.forward, connection.back
    rows = np.flatnonzero(ahead.data)
    jumps = np.flatnonzero(ahead.seq[rows[1:]] > ahead.highest[rows[:-1]])
    if not len(jumps):
        raise MetricError("every data segment came in order: there is no hole")
    first = rows[jumps[0] + 1]
    missing = ahead.highest[first - 1]
    filling = rows[(rows > first) & (ahead.seq[rows] <= missing)]
    if not len(filling):
        raise MetricError("the hole was never filled")
    behind = rows[(rows >= first) & (rows < filling[0])]
    within = (back.packet > ahead.packet[first]) & (back.packet < ahead.packet[filling[0]])
    return behind, np.flatnonzero(within & back.pure_ack & (back.ack == missing))


def full_segment(capture: Capture, connection: Connection) -> int:
    """Return the payload of a full segment: the smaller MSS of the two SYNs minus the options of data segments.

    Raises MetricError if a SYN was not captured.
    """
    syns = [capture.census.syn(flow) for flow in (connection.flow, connection.flow.reverse)]
    sizes = [syn.mss for syn in syns if syn and syn.mss is not None]
    if len(sizes) < 2:
        raise MetricError("the MSS is not known: a SYN was not captured")
    return min(sizes) - max(header_lengths(connection), default=20) + 20


def _within(connection: Connection, way: Segments, start: float, end: float) -> Bools:
    """Return which segments of one direction came between `start` and `end`, in seconds since the first data
    segment.
    """
    since = (way.time_ns - connection.start_ns) / 1e9
    inside: Bools = (since >= start) & (since < end)
    return inside


def _by_opener(connection: Connection) -> tuple[Segments, Segments]:
    """Return (segments from the opening side, segments from the other side).

    Raises MetricError if the opening SYN was not captured.
    """
    for way, other in ((connection.forward, connection.back), (connection.back, connection.forward)):
        if (way.flags & (SYN | ACK) == SYN).any():
            return way, other
    raise MetricError("who opened the connection is not known: its SYN was not captured")
