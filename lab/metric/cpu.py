"""Measure the CPU time that a trial used, from the guest kernel's own accounting."""

from __future__ import annotations

from lab.guest import outputs
from lab.record.record import Record
from lab.spec.metric import Measure, MetricError, measures
from lab.units import Value


@measures("s")
def cpu_per_gb() -> Measure:
    """Measure CPU seconds per GB of the lab's own bulk transfer, summed over both hosts and the wires.

    The metric raises MetricError in virtual time, because computing takes no time there.
    """

    def measure(record: Record) -> Value:
        if record.trial.clock == "virtual":
            raise MetricError("in virtual time, computing takes no time; use clock='real' to measure its cost")
        account = record.json(outputs.CPU)
        busy = sum(seconds for kind, seconds in account.items() if kind != "elapsed")
        return Value(1e9 * busy / record.json(outputs.BULK)["bytes"], "s")

    return measure
