"""Measure what the CPU did while a trial ran, from the guest kernel's own accounting."""

from __future__ import annotations

from lab import outputs
from lab.metric.flow import MetricError
from lab.metric.metrics import Metric
from lab.record.record import Record
from lab.units import Value

__all__ = ["cpu_per_gb"]


def cpu_per_gb() -> Metric:
    """Measure CPU seconds per GB that our own bulk transfer moved, over both hosts and the wires.

    The metric raises MetricError in virtual time, where computing takes no time.
    """

    def measure(record: Record) -> Value:
        if record.trial.clock == "virtual":
            raise MetricError("in virtual time computing takes no time: its cost needs clock='real'")
        account = record.json(outputs.CPU)
        busy = sum(seconds for kind, seconds in account.items() if kind != "elapsed")
        return Value(1e9 * busy / record.json(outputs.BULK)["bytes"], "s")

    return measure
