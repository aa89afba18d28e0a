"""Measure the times of short transfers (`lab.guest.workload.Arrivals`), from before connecting to the last byte."""

from __future__ import annotations

from lab.guest import outputs
from lab.metric.arrays import Floats, np
from lab.record.record import Record
from lab.spec.metric import Measure, Quantile, measures
from lab.units import Value


def completion_times(record: Record) -> Floats:
    """Return the duration of each transfer, in seconds, in the order of the transfers' starts."""
    found = record.json(outputs.TRANSFERS)
    return (np.array(found["end_ns"], np.int64) - np.array(found["start_ns"], np.int64)) / 1e9


@measures("s", by="median")
def completion_time(quantile: Quantile = 0.5) -> Measure:
    """Measure the time that a transfer takes, in seconds: the median, or another quantile."""
    return lambda record: Value(float(np.quantile(completion_times(record), quantile)), "s")
