"""Measure a link's queue from its qdisc's counters during the workload."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from statistics import fmean
from typing import Any, TypeAlias

from lab.guest import outputs
from lab.metric.flows import busy_ns
from lab.metric.tools import Way
from lab.record.record import Record
from lab.spec.metric import Measure, MetricError, measures
from lab.spec.steady import Course, OverTime
from lab.units import Value

_Sample: TypeAlias = dict[str, Any]  # the counters that the probe `QueueState` read at one moment


@measures("1")
def queue_drops(link: str, way: Way = "forward") -> Measure:
    """Count the packets that the link's queue dropped, for any reason."""
    return lambda record: Value(_during(record, link, way, "drops"), "1")


@measures("1")
def queue_drops_since_first(link: str, seconds: float, way: Way = "forward") -> Measure:
    """Count the packets that the link's queue dropped from its first drop until `seconds` later, including the first.

    The metric needs the probe `QueueState`. The probe's interval limits the precision of both times.
    """

    def measure(record: Record) -> Value:
        samples = _samples(record, link, way)
        before = samples[0]["drops"]
        first = next((each["ns"] for each in samples if each["drops"] > before), None)
        if first is None:
            raise MetricError(f"the queue of link {link}, {way}, dropped nothing")
        until = first + round(seconds * 1e9)
        if samples[-1]["ns"] < until:
            raise MetricError(f"the queue of link {link}, {way}, was not sampled for {seconds:g} s after a drop")
        return Value(max(each["drops"] for each in samples if each["ns"] <= until) - before, "1")

    return measure


@measures("1", most=1)
def queue_dropped_share(link: str, way: Way = "forward") -> Measure:
    """Measure the share of packets that the link's queue dropped, out of all that arrived at the queue.

    The metric needs the probe `QueueState`.
    """

    def dropped(part: list[_Sample]) -> float:
        lost, passed = (part[-1][key] - part[0][key] for key in ("drops", "packets"))
        if not lost + passed:
            raise MetricError(f"no packet reached the queue of link {link}, {way}")
        return float(lost / (lost + passed))

    return OverTime(lambda record: _course(record, link, way, "1", dropped))


@measures("1")
def queue_marks(link: str, way: Way = "forward") -> Measure:
    """Count the packets that the link's queue marked (CE) instead of dropping them."""

    def measure(record: Record) -> Value:
        counted = [
            _queue(record, when, link, way).get("counted", {}).get("marks")
            for when in (outputs.QDISCS_BEFORE, outputs.QDISCS_AFTER)
        ]
        if None in counted:
            raise MetricError(f"the queue of link {link}, {way}, does not mark packets")
        return Value(float(counted[1] - counted[0]), "1")

    return measure


@measures("1")
def queue_marked_share(link: str, way: Way = "forward") -> Measure:
    """Measure the share of packets leaving the link's queue that were marked. The metric needs the probe
    `QueueState`.
    """

    def marked(part: list[_Sample]) -> float:
        if "marks" not in part[0]:
            raise MetricError(f"the queue of link {link}, {way}, does not mark packets")
        passed = part[-1]["packets"] - part[0]["packets"]
        if not passed:
            raise MetricError(f"no packet passed the queue of link {link}, {way}")
        return float((part[-1]["marks"] - part[0]["marks"]) / passed)

    return OverTime(lambda record: _course(record, link, way, "1", marked))


@measures("s")
def mean_queue_delay(link: str, way: Way = "forward") -> Measure:
    """Measure the mean wait in the link's queue with Little's law: packets in the queue over packets per second.

    The metric needs the probe `QueueState`. Dropped packets are ignored.
    """

    def delay(part: list[_Sample]) -> float:
        passed, seconds = part[-1]["packets"] - part[0]["packets"], (part[-1]["ns"] - part[0]["ns"]) / 1e9
        if not passed:
            raise MetricError(f"no packet passed the queue of link {link}, {way}")
        return float(fmean(sample["backlog"] for sample in part) * seconds / passed)

    return OverTime(lambda record: _course(record, link, way, "s", delay))


def _course(record: Record, link: str, way: Way, unit: str, figure: Callable[[list[_Sample]], float]) -> Course:
    """Return a figure of a queue's samples, over the time in which all flows send."""
    samples = _samples(record, link, way)
    if len(samples) < 2:
        raise MetricError(f"the queue of link {link}, {way}, was sampled fewer than two times")
    zero = samples[0]["ns"]
    times = [sample["ns"] - zero for sample in samples]
    begin, end = (each - zero for each in busy_ns(record) or (zero, samples[-1]["ns"]))

    def between(low: float, high: float) -> float:
        first, last = bisect_left(times, round(low * 1e9)), bisect_right(times, round(high * 1e9))
        return figure(samples[max(first - 1, 0) : last])

    return Course(begin / 1e9, min(end, times[-1]) / 1e9, unit, between)


def _samples(record: Record, link: str, way: Way) -> list[_Sample]:
    """Return what the probe `QueueState` read. Without a separate queue, it counts the wire's frames in flight, too."""
    for each in record.trial.network["links"]:
        if each["name"] == link and not each[way].get("queue"):
            raise MetricError(_no_queue(link, way))
    found: list[_Sample] = record.json(outputs.queue(link, way))
    return found


def _no_queue(link: str, way: Way) -> str:
    wait = "frames wait in the wire's netem, beside those in flight; give the link a queue, such as pfifo"
    return f"link {link}, {way}, has no separate queue: {wait}"


def _during(record: Record, link: str, way: Way, key: str) -> float:
    before, after = (_queue(record, when, link, way)[key] for when in (outputs.QDISCS_BEFORE, outputs.QDISCS_AFTER))
    return float(after - before)


def _queue(record: Record, when: str, link: str, way: Way) -> dict[str, Any]:
    """Return the entry of the queue, and not the entry of the wire's netem."""
    for each in record.json(when):
        if (each["node"], each["direction"]) == (link, way) and each["kind"] != "netem":
            return dict(each)
    raise MetricError(_no_queue(link, way))
