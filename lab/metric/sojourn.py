"""Measure the time that packets wait in a link's queue, from captures on both sides of the link.

A packet is recognised by its flow, sequence number, length and timestamp. A retransmission has a later timestamp,
unless it is sent within one tick of the timestamp clock. In that case, the first of the two packets is used.
"""

from __future__ import annotations

from typing import Any

from lab.base import ethernet
from lab.guest.network import Direction, Shaper
from lab.metric.arrays import Floats, Ints, np
from lab.metric.capture import Capture
from lab.metric.metrics import capture_of
from lab.metric.tools import Way
from lab.record.record import Record
from lab.spec.delays import delay_to
from lab.spec.metric import Measure, MetricError, Quantile, measures
from lab.spec.steady import Course, OverTime
from lab.units import from_plain

_ROW = [("key", "u8"), ("seq", "u4"), ("stamp", "u4"), ("payload", "i4")]
_ROW_OF = {"key": "key", "seq": "seq", "stamp": "ts_value", "payload": "payload"}  # columns of packets


@measures("s")
def queue_delay(link: str = "path", quantile: Quantile = 0.5, way: Way = "forward") -> Measure:
    """Measure the time that data waits in a link's queue, in seconds: the median, or another quantile."""

    def course(record: Record) -> Course:
        sent, waited = sojourns(record, link, way)
        since = (sent - sent[0]) / 1e9

        def between(start: float, end: float) -> float:
            inside = waited[(since >= start) & (since <= end)]
            return float(np.quantile(inside, quantile)) if len(inside) else 0.0

        return Course(0.0, float(since[-1]), "s", between)

    return OverTime(course)


def sojourns(record: Record, link: str = "path", way: Way = "forward") -> tuple[Ints, Floats]:
    """Return (times in ns, seconds in the queue) of the data segments that crossed the link, in order.

    The time in the queue excludes the link's delay to the segment's destination, and the segment's own time on the
    wire. Raises MetricError if a side of the link was not captured, if no segment was captured on both sides, and for a
    link whose delay or rate is not the same for all segments.
    """
    found: list[dict[str, Any]] = [each for each in record.trial.network["links"] if each["name"] == link]
    if not found:
        raise MetricError(f"the network has no link '{link}'")
    ends = found[0]["ends"] if way == "forward" else found[0]["ends"][::-1]
    before, after = (capture_of(record, end["node"], end["name"]) for end in ends)
    sent, came = transits(before, after)
    if not len(sent):
        raise MetricError(f"no data segment was captured on both sides of link '{link}'")
    direction = from_plain(found[0][way], Direction)
    if reason := _varies(direction):
        raise MetricError(f"link '{link}', {way}, {reason}: the captures do not show how long a segment waited")
    frame, time = before.columns("frame", "time_ns")
    own = np.zeros(len(sent))
    if direction.rate and not (direction.queue and direction.queue.is_bucket and direction.queue.own_rate is None):
        own = 8 * (frame[sent].astype(np.int64) + ethernet.OVERHEAD) * 1e9 / direction.rate.bps
    delay = np.full(len(sent), direction.delay.ns, np.int64)
    if direction.delays:
        of_flows = [delay_to(direction, each.destination).ns for each in before.flows]
        delay = np.array(of_flows, np.int64)[before.flow[sent]]
    start = time[sent]
    waited = after.time_ns[came] - start - delay - own
    order = np.argsort(start, kind="stable")
    return start[order], np.maximum(waited[order], 0.0) / 1e9


def _varies(direction: Direction) -> str:
    """Return why a segment's time on the wire is not known from its size and its destination, or ''."""
    if any(change.rate is not None or change.delay is not None for change in direction.changes):
        return "has a rate or a delay that changes"
    if direction.jitter.ns or direction.reorder or direction.slot:
        return "delays each frame differently"
    if direction.shaper is Shaper.NIC:
        return "has its queue in the sender's interface, before the capture"
    return ""


def transits(before: Capture, after: Capture) -> tuple[Ints, Ints]:
    """Return the indices, in both captures, of the data segments that passed first `before` and then `after`."""
    (sent, first), (came, later) = _rows(before), _rows(after)
    _, at, there = np.intersect1d(sent, came, return_indices=True)
    return first[at], later[there]


def _rows(capture: Capture) -> tuple[Any, Ints]:
    """Return the identity of each data segment and its index in the capture.

    Among equal segments, the first is used.
    """
    found, at, before = [], [], 0
    for packets in capture.blocks():
        data = np.flatnonzero(packets.tcp & (packets.payload > 0))
        rows = np.empty(len(data), _ROW)
        for name, column in _ROW_OF.items():
            rows[name] = getattr(packets, column)[data]
        found.append(rows)
        at.append(before + data)
        before += len(packets)
    unique, first = np.unique(np.concatenate([np.empty(0, _ROW), *found]), return_index=True)
    return unique, np.concatenate([np.empty(0, np.int64), *at])[first]
