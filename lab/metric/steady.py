"""Measure a bulk transfer after slow start: in the second half of its duration."""

from __future__ import annotations

from lab.metric.arrays import np
from lab.metric.metrics import connection_of, tcp_info_of
from lab.record.record import Record
from lab.spec.metric import Measure, MetricError, measures
from lab.spec.steady import Course, OverTime
from lab.units import Duration, Value


@measures("bit/s")
def steady_goodput(node: str = "sender") -> Measure:
    """Measure the goodput in the second half of the workload's duration, from samples of tcp_info."""

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


@measures("bit/s")
def long_run_goodput(node: str = "sender") -> Measure:
    """Measure the goodput of one transfer in bytes acknowledged per second, from samples of tcp_info."""

    def course(record: Record) -> Course:
        samples = tcp_info_of(record, node)
        acked, since = samples["bytes_acked"].astype(np.float64), (samples.time_ns - samples.time_ns[0]) / 1e9

        def between(start: float, end: float) -> float:
            low, high = np.interp((start, end), since, acked)
            return float(8 * (high - low) / (end - start))

        return Course(0.0, float(since[-1]), "bit/s", between)

    return OverTime(course)


@measures("s")
def steady_rtt(node: str = "sender") -> Measure:
    """Measure the median smoothed RTT in the second half of the workload's duration, from samples of tcp_info."""

    def measure(record: Record) -> Value:
        samples = tcp_info_of(record, node)
        middle = int(samples.time_ns[0]) + _half_ns(record)
        return Value(float(np.median(samples["rtt"][samples.time_ns >= middle])) / 1e6, "s")

    return measure


@measures("1", most=1)
def steady_idle_share(node: str = "receiver", interface: str | None = None) -> Measure:
    """Measure the share of the second half of the workload's duration in which no data segment passes.

    The metric assumes that a segment lasts as long as the mean time between segments of one burst.
    """

    def measure(record: Record) -> Value:
        connection, half = connection_of(record, node, interface), _half_ns(record)
        middle = connection.start_ns + half
        times = np.concatenate([part.forward.time_ns[part.forward.data] for part in connection.parts()]) - middle
        inside = times[(times >= 0) & (times < half)]
        if len(inside) < 2:
            raise MetricError("too few segments passed in the second half of the transfer")
        distances = np.diff(inside)
        back_to_back = float(distances[distances < 2 * np.median(distances)].mean())
        # Count the part of a segment that is inside the half, so that a full wire is never idle.
        busy = np.minimum(times + back_to_back, half) - np.maximum(times, 0)
        return Value(max(0.0, 1 - float(busy.clip(0).sum()) / half), "1")

    return measure


def _half_ns(record: Record) -> int:
    duration = record.trial.workload.get("duration")
    if duration is None:
        raise MetricError("the workload has no duration")
    return Duration.of(duration).ns // 2
