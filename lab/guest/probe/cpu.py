"""Account for the CPU time of the whole kernel under test (both hosts and the wires in between) with its own counters.

/proc/stat counts clock ticks (USER_HZ, 10 ms). At each timer interrupt, the kernel adds 1/HZ of a second to the kind of
work that the interrupt hit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.guest import outputs
from lab.guest.probe import proc_stat
from lab.guest.task import Task
from lab.guest.testbed import Testbed

BUSY = ("user", "nice", "system", "irq", "softirq")


class CpuTime(Task, frozen=True):
    """Counts CPU time while the workload runs. Leaves cpu.json: the seconds of each kind of work, and those `elapsed`.

    In virtual time, nothing takes CPU time, so all counts stay zero.
    """

    @contextmanager
    def watch(self, testbed: Testbed) -> Iterator[None]:
        """Count within this context."""
        before, start = _account(), time.monotonic()
        yield
        after, end = _account(), time.monotonic()
        spent = {name: round(after[name] - before[name], 2) for name in BUSY}
        (testbed.out / outputs.CPU).write_text(json.dumps({**spent, "elapsed": round(end - start, 3)}) + "\n")


def _account() -> dict[str, float]:
    return {kind: count / proc_stat.ticks_a_second() for kind, count in proc_stat.ticks().items() if kind in BUSY}
