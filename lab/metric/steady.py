"""Measure what a bulk transfer does once slow start is over: in the second half of its duration."""

from __future__ import annotations

from lab.metric.arrays import np
from lab.metric.flow import MetricError
from lab.metric.metrics import Metric, connection_of, tcp_info_of
from lab.record.record import Record
from lab.units import Duration, Value

__all__ = ["steady_goodput", "steady_idle_share", "steady_rtt"]


def steady_goodput(node: str = "sender") -> Metric:
    """Measure the goodput in the second half of the workload's duration: bytes acknowledged per second, by samples of
    tcp_info.
    """

    def measure(record: Record) -> Value:
        samples = tcp_info_of(record, node)
        acked, half = samples["bytes_acked"].astype(np.int64), _half_ns(record)
        begun = int(samples.time_ns[np.flatnonzero(acked)[0]])  # the SYN counts
        low, high = np.searchsorted(samples.time_ns, [begun + half, begun + 2 * half], side="right") - 1
        if low == high:
            raise MetricError(f"the tcp_info samples of '{node}' end before the second half of the transfer")
        elapsed = samples.time_ns[high] - samples.time_ns[low]
        return Value(float(8e9 * (acked[high] - acked[low]) / elapsed), "bit/s")

    return measure


def steady_rtt(node: str = "sender") -> Metric:
    """Measure the median of the smoothed RTT in the second half of the workload's duration, by samples of tcp_info."""

    def measure(record: Record) -> Value:
        samples = tcp_info_of(record, node)
        middle = int(samples.time_ns[0]) + _half_ns(record)
        return Value(float(np.median(samples["rtt"][samples.time_ns >= middle])) / 1e6, "s")

    return measure


def steady_idle_share(node: str = "receiver", interface: str | None = None) -> Metric:
    """Measure the share of the second half of the workload's duration in which no data segment passed.

    A segment is taken to last as long as the mean time from one segment to the next of the same burst.
    """

    def measure(record: Record) -> Value:
        connection, half = connection_of(record, node, interface), _half_ns(record)
        middle = connection.start_ns + half
        times = np.concatenate([part.forward.time_ns[part.forward.data] for part in connection.parts()]) - middle
        inside = times[(times >= 0) & (times < half)]
        if len(inside) < 2:
            raise MetricError("hardly anything passed in the second half of the transfer")
        distances = np.diff(inside)
        back_to_back = float(distances[distances < 2 * np.median(distances)].mean())
        # Of a segment that reaches over an end of the half, a part counts: a full wire is never idle.
        busy = np.minimum(times + back_to_back, half) - np.maximum(times, 0)
        return Value(max(0.0, 1 - float(busy.clip(0).sum()) / half), "1")

    return measure


def _half_ns(record: Record) -> int:
    return Duration.of(record.trial.workload["duration"]).ns // 2
