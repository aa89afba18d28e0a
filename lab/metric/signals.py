"""Measure what a network says to a sender, by the sender's own counts (tcp_info): what was lost, what was marked."""

from __future__ import annotations

from lab.metric.flow import MetricError
from lab.metric.metrics import Metric, tcp_info_of
from lab.record.record import Record
from lab.units import Value

__all__ = ["marked_share", "retransmitted_share"]


def retransmitted_share(node: str = "sender") -> Metric:
    """Measure the share of all payload that a connection sent which had been sent before."""
    return _share("bytes_retrans", "bytes_sent", node)


def marked_share(node: str = "sender") -> Metric:
    """Measure the share of delivered segments that the receiver reported as marked (ECN's CE)."""
    return _share("delivered_ce", "delivered", node)


def _share(part: str, whole: str, node: str) -> Metric:
    def measure(record: Record) -> Value:
        samples = tcp_info_of(record, node)
        total = int(samples[whole][-1])
        if not total:
            raise MetricError(f"the connection of '{node}' has no {whole}")
        return Value(int(samples[part][-1]) / total, "1")

    return measure
