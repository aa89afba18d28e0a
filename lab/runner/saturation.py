"""Whether a trial's figures are its network's or its CPU's, where computing takes time of the trial's clock."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from lab.probe import CpuTime, Probe, proc_stat

__all__ = ["SATURATED", "Load", "measured", "reasons"]

SATURATED = 0.9  # of the workload's time: a CPU that idles less than the rest is what the packets waited for


@dataclass
class Load:
    """The part of a workload's time that the guest's CPU was busy; known when it has ended."""

    busy: float = 0.0


@contextmanager
def measured() -> Iterator[Load]:
    """The load within this context."""
    load = Load()
    idle, start = _idle(), time.monotonic()
    yield load
    elapsed = time.monotonic() - start
    load.busy = round(min(1.0, max(0.0, 1 - (_idle() - idle) / elapsed)), 3)


def reasons(load: Load, probes: Sequence[Probe]) -> list[str]:
    """Why the trial does not count; nothing where CPU time is what it is about."""
    if load.busy < SATURATED or any(isinstance(probe, CpuTime) for probe in probes):
        return []
    return [f"the guest's CPU was busy {100 * load.busy:.0f} % of the time: its speed was measured, not the network's"]


def _idle() -> float:
    """Seconds since boot that no CPU time was used."""
    ticks = proc_stat.ticks()
    return (ticks["idle"] + ticks["iowait"]) / proc_stat.ticks_a_second()
