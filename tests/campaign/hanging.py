"""Tell what hangs from what is slow because the machine has much else to do.

Who is not given a CPU is ready to run, and who hangs either runs without end or sleeps without end: so CPU time counts
and what processes wait for, and no clock.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LOOKS", "LOOK_SECONDS", "Watch", "descendants"]

LOOK_SECONDS = 0.25
LOOKS = 40  # one after the other at which nothing runs: ten seconds on an idle machine, more on a busy one
TICKS = os.sysconf("SC_CLK_TCK")
LITTLE = 0.1  # seconds of CPU between looks that somebody takes who only asks whether he may go on


@dataclass
class Watch:
    """Watches a process and all below it; `cpu` seconds are more than they ever need."""

    pid: int
    cpu: float
    _idle: int = 0
    _before: float = 0.0

    def look(self) -> str:
        """Say why they hang; "" while they do not."""
        found = [stat for pid in (self.pid, *descendants(self.pid)) if (stat := _stat(pid))]
        cpu = sum(sum(map(int, stat[11:15])) for stat in found) / TICKS
        if cpu > self.cpu:
            return f"takes more than {self.cpu:g} s of CPU"
        if cpu > self._before + LITTLE or any(stat[0] in "RD" for stat in found):
            self._idle, self._before = 0, cpu
        else:
            self._idle += 1
        return "waits, and nothing runs" if self._idle >= LOOKS else ""


def descendants(pid: int) -> list[int]:
    """Every process below this one."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        if stat := _stat(int(entry.name)):
            children.setdefault(int(stat[1]), []).append(int(entry.name))
    found, left = [], [pid]
    while left:
        found += (below := children.get(left.pop(), []))
        left += below
    return found


def _stat(pid: int) -> list[str]:
    """Return the fields of a process's status from its state on (proc(5)); nothing when it has gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []
