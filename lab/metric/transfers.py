"""Measure how long short transfers take (`lab.workload.Arrivals`), from before each connects to its last byte."""

from __future__ import annotations

from lab import outputs
from lab.metric.arrays import Floats, np
from lab.metric.metrics import Metric
from lab.record.record import Record
from lab.units import Value

__all__ = ["completion_time", "completion_times"]


def completion_times(record: Record) -> Floats:
    """Return the seconds that each transfer took, in the order of their starts."""
    found = record.json(outputs.TRANSFERS)
    return (np.array(found["end_ns"], np.int64) - np.array(found["start_ns"], np.int64)) / 1e9


def completion_time(quantile: float = 0.5) -> Metric:
    """Measure the seconds that a transfer takes: the median or another quantile."""
    return lambda record: Value(float(np.quantile(completion_times(record), quantile)), "s")
