"""Measure the time that packets wait in a link's queue, from captures on both sides of the link.

A packet is recognised by its flow, sequence number, length and timestamp. A retransmission has a later timestamp,
unless it is sent within one tick of the timestamp clock. In that case, the first of the two packets is used.
"""

from __future__ import annotations

from typing import Any

from lab.metric.arrays import Floats, Ints, np
from lab.metric.capture import Capture
from lab.metric.metrics import capture_of
from lab.metric.tools import Way
from lab.record.record import Record
from lab.spec.metric import Measure, MetricError, Quantile, measures
from lab.spec.steady import Course, OverTime
from lab.units import Duration, Rate

FRAME_OVERHEAD = 24  # bytes of a frame on the wire that a capture does not count: preamble, FCS and gap
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

    The time in the queue excludes the link's delay and the segment's own time on the wire. Raises MetricError if a side
    of the link was not captured, or no segment was captured on both sides.
    """
    found: list[dict[str, Any]] = [each for each in record.trial.network["links"] if each["name"] == link]
    if not found:
        raise MetricError(f"the network has no link '{link}'")
    ends = found[0]["ends"] if way == "forward" else found[0]["ends"][::-1]
    before, after = (capture_of(record, end["node"], end["name"]) for end in ends)
    sent, came = transits(before, after)
    if not len(sent):
        raise MetricError(f"no data segment was captured on both sides of link '{link}'")
    direction = found[0][way]
    frame, time = before.columns("frame", "time_ns")
    frames = 8 * (frame[sent].astype(np.int64) + FRAME_OVERHEAD)
    own = frames * 1e9 / Rate.of(direction["rate"]).bps if direction["rate"] else 0.0
    start = time[sent]
    waited = after.time_ns[came] - start - Duration.of(direction["delay"]).ns - own
    order = np.argsort(start, kind="stable")
    return start[order], np.maximum(waited[order], 0.0) / 1e9


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
