"""Measure what a link's queue did, from what its qdisc counted during the workload."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from lab import outputs
from lab.metric.flow import MetricError
from lab.metric.metrics import Metric, Way
from lab.record.record import Record
from lab.units import Value

__all__ = [
    "mean_queue_delay",
    "queue_dropped_share",
    "queue_drops",
    "queue_drops_since_first",
    "queue_marked_share",
    "queue_marks",
]


def queue_drops(link: str, way: Way = "forward") -> Metric:
    """Count the packets that the link's queue dropped, for whatever reason."""
    return lambda record: Value(_during(record, link, way, "drops"), "1")


def queue_drops_since_first(link: str, seconds: float, way: Way = "forward") -> Metric:
    """Count the packets that the link's queue dropped from its first drop until so many seconds later, that one too.

    It needs the probe `QueueState`, whose interval is how exact both moments are.
    """

    def measure(record: Record) -> Value:
        samples = record.json(outputs.queue(link, way))
        before = samples[0]["drops"]
        first = next((each["ns"] for each in samples if each["drops"] > before), None)
        if first is None:
            raise MetricError(f"the queue of link {link}, {way}, dropped nothing")
        until = first + round(seconds * 1e9)
        if samples[-1]["ns"] < until:
            raise MetricError(f"the queue of link {link}, {way}, was not looked at for {seconds:g} s after a drop")
        return Value(max(each["drops"] for each in samples if each["ns"] <= until) - before, "1")

    return measure


def queue_dropped_share(link: str, way: Way = "forward") -> Metric:
    """Measure the share of the packets that came to the link's queue and were dropped there."""

    def measure(record: Record) -> Value:
        dropped, passed = (_during(record, link, way, key) for key in ("drops", "packets"))
        if not dropped + passed:
            raise MetricError(f"no packet came to the queue of link {link}, {way}")
        return Value(dropped / (dropped + passed), "1")

    return measure


def queue_marks(link: str, way: Way = "forward") -> Metric:
    """Count the packets that the link's queue marked instead (CE)."""
    return lambda record: Value(_marks(record, link, way), "1")


def queue_marked_share(link: str, way: Way = "forward") -> Metric:
    """Measure the share of the packets let go that were marked."""

    def measure(record: Record) -> Value:
        passed = _during(record, link, way, "packets")
        if not passed:
            raise MetricError(f"no packet passed the queue of link {link}, {way}")
        return Value(_marks(record, link, way) / passed, "1")

    return measure


def mean_queue_delay(link: str, way: Way = "forward") -> Metric:
    """Measure the mean wait in the link's queue by Little's law: packets there over packets a second.

    It needs the probe `QueueState`. Packets that were dropped do not count.
    """

    def measure(record: Record) -> Value:
        samples = record.json(outputs.queue(link, way))
        if len(samples) < 2:
            raise MetricError(f"the queue of link {link}, {way}, was looked at fewer than twice")
        seconds = (samples[-1]["ns"] - samples[0]["ns"]) / 1e9
        passed = samples[-1]["packets"] - samples[0]["packets"]
        if not passed:
            raise MetricError(f"no packet passed the queue of link {link}, {way}")
        return Value(fmean(sample["backlog"] for sample in samples) * seconds / passed, "s")

    return measure


def _marks(record: Record, link: str, way: Way) -> float:
    counted = [
        _queue(record, when, link, way).get("counted", {}).get("marks")
        for when in (outputs.QDISCS_BEFORE, outputs.QDISCS_AFTER)
    ]
    if None in counted:
        raise MetricError(f"the queue of link {link}, {way}, does not mark packets")
    return float(counted[1] - counted[0])


def _during(record: Record, link: str, way: Way, key: str) -> float:
    before, after = (_queue(record, when, link, way)[key] for when in (outputs.QDISCS_BEFORE, outputs.QDISCS_AFTER))
    return float(after - before)


def _queue(record: Record, when: str, link: str, way: Way) -> dict[str, Any]:
    """Return the entry of the queue, which stands beside that of the wire's netem."""
    for each in record.json(when):
        if (each["node"], each["direction"]) == (link, way) and each["kind"] != "netem":
            return dict(each)
    raise MetricError(f"link {link}, {way}, has no queue of its own")
