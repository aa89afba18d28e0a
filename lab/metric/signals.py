"""Measure a sender by its own counts (tcp_info): what it has in flight, and what was lost and marked of it."""

from __future__ import annotations

from lab.metric.flow import MetricError
from lab.metric.metrics import Metric, tcp_info_of
from lab.record.record import Record
from lab.units import Value

__all__ = ["marked_share", "most_in_flight", "retransmitted_share"]


def retransmitted_share(node: str = "sender") -> Metric:
    """Measure the share of all payload that a connection sent which had been sent before."""
    return _share("bytes_retrans", "bytes_sent", node)


def marked_share(node: str = "sender") -> Metric:
    """Measure the share of delivered segments that the receiver reported as marked (ECN's CE)."""
    return _share("delivered_ce", "delivered", node)


def most_in_flight(node: str, start: float, end: float) -> Metric:
    """Measure the most segments that a connection had in flight, in seconds since it was first looked at.

    The kernel counts so what is neither acknowledged, nor known to be elsewhere, and what was sent again.
    """

    def measure(record: Record) -> Value:
        samples = tcp_info_of(record, node)
        seconds = (samples.time_ns - samples.time_ns[0]) / 1e9
        within = (seconds >= start) & (seconds < end)
        if not within.any():
            raise MetricError(f"the connection of '{node}' was not looked at from {start:g} to {end:g} s")
        counts = {name: samples[name].astype(int) for name in ("unacked", "sacked", "lost", "retrans")}
        in_flight = counts["unacked"] - counts["sacked"] - counts["lost"] + counts["retrans"]
        return Value(int(in_flight[within].max()), "1")

    return measure


def _share(part: str, whole: str, node: str) -> Metric:
    def measure(record: Record) -> Value:
        samples = tcp_info_of(record, node)
        total = int(samples[whole][-1])
        if not total:
            raise MetricError(f"the connection of '{node}' has no {whole}")
        return Value(int(samples[part][-1]) / total, "1")

    return measure
