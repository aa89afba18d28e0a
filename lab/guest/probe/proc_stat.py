"""Read /proc/stat: the CPUs' work since boot, in clock ticks per kind of work."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

__all__ = ["KINDS", "ticks", "ticks_a_second"]

KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")  # in the order of proc_stat(5)


def ticks(cpus: Collection[int] | None = None) -> dict[str, int]:
    """Return the ticks per kind of work, summed over the CPUs in `cpus`, or over all CPUs."""
    names = {"cpu"} if cpus is None else {f"cpu{number}" for number in cpus}
    total = dict.fromkeys(KINDS, 0)
    for line in Path("/proc/stat").read_text().splitlines():
        name, *counts = line.split()
        if name in names:
            for kind, count in zip(KINDS, counts, strict=False):
                total[kind] += int(count)
    return total


def ticks_a_second() -> int:
    """Return the ticks of one CPU per second: USER_HZ."""
    return os.sysconf("SC_CLK_TCK")
