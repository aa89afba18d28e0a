"""Record the CPU time that the host's scheduler gave to a guest, and withheld from it. Standard library only."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from typing import Any


class Looks:
    """Records the CPU time that the host's scheduler gave and withheld, to bound the time that a ready guest waited.

    All times are relative to an arbitrary start. For each of the guest's processes, the record holds how long the
    process ran, and how long it waited for a CPU while it was ready. For the guest's CPU, the record holds how long the
    CPU was idle, and how long a hypervisor withheld it.
    """

    def __init__(self, cpu: int) -> None:
        self.cpu = cpu
        self.known: dict[int, tuple[int, int]] = {}  # process -> nanoseconds that it ran and waited, at the last look
        self.alive: set[int] = set()
        self.gone = 0
        self.ran_ns = 0
        self.noted: list[dict[str, Any]] = []

    def look(self, stats: Mapping[int, tuple[str, float]]) -> None:
        """Read the counters of the guest's processes. `stats` has their states and CPU seconds."""
        now = {pid: found for pid in stats if (found := _scheduled(pid)) is not None}
        self.gone += len(self.alive - now.keys())
        self.alive, self.known = {*now}, {**self.known, **now}
        seconds = sum(seconds for _, seconds in stats.values())  # of processes that ended and were reaped, too
        self.ran_ns = max(self.ran_ns, sum(ran for ran, _ in self.known.values()), round(1e9 * seconds))
        idle, stolen = _idle(self.cpu)
        self.noted.append(
            {
                "ns": time.time_ns(),
                "ran_ns": self.ran_ns,
                "waited_ns": sum(waited for _, waited in self.known.values()) if self.known else None,
                "gone": self.gone,  # ended processes: their waits since the previous look are unknown
                "idle_s": idle,
                "stolen_s": stolen,
            }
        )


def _scheduled(pid: int) -> tuple[int, int] | None:
    """Return the nanoseconds that all threads of a process ran and waited for a CPU; None if the kernel does not count
    them.
    """
    ran = waited = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", "rb") as file:
                first, second, _ = map(int, file.read().split())
                ran, waited = ran + first, waited + second
    except (OSError, ValueError):
        return None
    return ran, waited


def _idle(cpu: int) -> tuple[float | None, float]:
    """Return the seconds for which a CPU was idle (None if they are not counted), and for which it was withheld."""
    tick = os.sysconf("SC_CLK_TCK")
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/stat", "rb") as file:
        for line in file:
            name, *ticks = line.split()
            if name == f"cpu{cpu}".encode():
                return (int(ticks[3]) + int(ticks[4])) / tick, int(ticks[7]) / tick
    return None, 0.0
