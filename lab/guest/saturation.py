"""Decide whether the network or the CPU limited a trial, if computing takes time on the trial's clock."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from lab.guest.probe import CpuTime, Probe, proc_stat

__all__ = ["SATURATED", "Load", "measured", "reasons"]

SATURATED = 0.9  # of the workload's time: above this, packets waited for the CPU


class Load(msgspec.Struct):
    """Holds the share of the workload's time during which the guest's CPU was busy.

    The share is set after the workload.
    """

    busy: float = 0.0


@contextmanager
def measured() -> Iterator[Load]:
    """Measure the load within this context."""
    load = Load()
    idle, start = _idle(), time.monotonic()
    yield load
    elapsed = time.monotonic() - start
    load.busy = round(min(1.0, max(0.0, 1 - (_idle() - idle) / elapsed)), 3)


def reasons(load: Load, probes: Sequence[Probe]) -> list[str]:
    """Return the reasons why the trial is invalid; empty if the trial measures CPU time."""
    if load.busy < SATURATED or any(isinstance(probe, CpuTime) for probe in probes):
        return []
    return [f"the guest's CPU was busy {100 * load.busy:.0f} % of the time: its speed was measured, not the network's"]


def _idle() -> float:
    """Return the seconds since boot during which the CPU was idle."""
    ticks = proc_stat.ticks()
    return (ticks["idle"] + ticks["iowait"]) / proc_stat.ticks_a_second()
