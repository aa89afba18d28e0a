"""Measure a sender from its own counts (tcp_info): segments in flight, retransmitted and marked."""

from __future__ import annotations

from lab.metric.metrics import tcp_info_of
from lab.record.record import Record
from lab.spec.metric import Measure, MetricError, measures
from lab.units import Value


@measures("1", most=1)
def retransmitted_share(node: str = "sender") -> Measure:
    """Measure the share of a connection's sent payload that was retransmitted."""
    return _share("bytes_retrans", "bytes_sent", node)


@measures("1", most=1)
def marked_share(node: str = "sender") -> Measure:
    """Measure the share of delivered segments that the receiver reported as marked (ECN's CE)."""
    return _share("delivered_ce", "delivered", node)


@measures("1", by="median")
def most_in_flight(node: str, start: float, end: float) -> Measure:
    """Measure the largest number of segments that a connection had in flight between two times.

    Times are in seconds since the first sample. The kernel counts segments that are neither acknowledged, nor
    selected, nor lost, and adds retransmitted segments.
    """

    def measure(record: Record) -> Value:
        samples = tcp_info_of(record, node)
        seconds = (samples.time_ns - samples.time_ns[0]) / 1e9
        within = (seconds >= start) & (seconds < end)
        if not within.any():
            raise MetricError(f"the connection of '{node}' was not sampled from {start:g} to {end:g} s")
        counts = {name: samples[name].astype(int) for name in ("unacked", "sacked", "lost", "retrans")}
        in_flight = counts["unacked"] - counts["sacked"] - counts["lost"] + counts["retrans"]
        return Value(int(in_flight[within].max()), "1")

    return measure


def _share(part: str, whole: str, node: str) -> Measure:
    def measure(record: Record) -> Value:
        samples = tcp_info_of(record, node)
        total = int(samples[whole][-1])
        if not total:
            raise MetricError(f"the connection of '{node}' has no {whole}")
        return Value(int(samples[part][-1]) / total, "1")

    return measure
