"""The CPU time of the whole kernel under test, both hosts and the wires between them, by its own accounts.

/proc/stat counts clock ticks (USER_HZ, 10 ms): whom the timer interrupt finds at work, a HZth of a second at a time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import msgspec

from lab import outputs
from lab.place import Place

IDLE = ("idle", "iowait")
FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq")  # proc_stat(5), in its order


class CpuTime(msgspec.Struct, frozen=True, tag="cpu_time", tag_field="kind", forbid_unknown_fields=True):
    """CPU time while the workload runs. Leaves cpu.json: seconds by kind of work, and the `elapsed` ones.

    In virtual time nothing takes CPU time, and the account stays empty.
    """

    tools: ClassVar[tuple[str, ...]] = ()

    @contextmanager
    def watch(self, place: Place) -> Iterator[None]:
        """Account within this context."""
        before, start = _account(), time.monotonic()
        yield
        after, end = _account(), time.monotonic()
        spent = {name: round(after[name] - before[name], 2) for name in FIELDS if name not in IDLE}
        (place.out / outputs.CPU).write_text(json.dumps({**spent, "elapsed": round(end - start, 3)}) + "\n")


def _account() -> dict[str, float]:
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    tick = os.sysconf("SC_CLK_TCK")
    return {name: int(word) / tick for name, word in zip(FIELDS, words, strict=False)}
