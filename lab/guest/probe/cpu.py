"""Account for the CPU time of the whole kernel under test (all hosts and wires) with the kernel's own counters.

/proc/stat counts clock ticks (USER_HZ, 10 ms). At each timer interrupt, the kernel adds 1/HZ of a second to the kind of
work that was interrupted.
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
    """Counts CPU time while the workload runs.

    Writes cpu.json: the seconds for each kind of work, and the seconds `elapsed`. In virtual time, computing takes no
    time, so all counts stay zero.
    """

    @contextmanager
    def watch(self, testbed: Testbed) -> Iterator[None]:
        """Count the CPU time within this context."""
        before, start = _account(), time.monotonic()
        yield
        after, end = _account(), time.monotonic()
        spent = {name: round(after[name] - before[name], 2) for name in BUSY}
        (testbed.out / outputs.CPU).write_text(json.dumps({**spent, "elapsed": round(end - start, 3)}) + "\n")


def _account() -> dict[str, float]:
    return {kind: count / proc_stat.ticks_a_second() for kind, count in proc_stat.ticks().items() if kind in BUSY}
