"""Steal a CPU's time in bursts, and say exactly when: `python -m bench.hog CPU SHARE NANOSECONDS SEED`.

Each burst starts at random in a stretch of its own, so that over any time long enough the share is what was asked for.
At SIGTERM it writes `[[start, end], ...]` to standard output, nanoseconds of the wall clock. It needs the right to
real-time priority, above that of any monitor: what it takes nobody else gets.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from lab.errors import MachineError

PRIORITY = 50


@dataclass
class Stolen:
    """Hold when the CPU was taken: known when the hog has ended."""

    bursts: list[tuple[int, int]] = field(default_factory=list)

    def share(self, start: int, end: int) -> float:
        """Return which share of the time from `start` to `end` was taken."""
        return sum(max(0, min(end, last) - max(start, first)) for first, last in self.bursts) / (end - start)


@contextmanager
def stealing(cpu: int, share: float, burst_ns: int, seed: int) -> Iterator[Stolen]:
    """Steal within this context. Raises MachineError where real-time priority is forbidden."""
    stolen = Stolen()
    if not share:
        yield stolen
        return
    argv = [sys.executable, "-m", "bench.hog", str(cpu), str(share), str(burst_ns), str(seed)]
    hog = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        yield stolen
    finally:
        hog.terminate()
        said, _ = hog.communicate()
    if hog.returncode:
        raise MachineError("stealing a CPU's time takes the right to real-time priority: run it as root")
    stolen.bursts += [(start, end) for start, end in json.loads(said)]


def main(cpu: int, share: float, burst_ns: int, seed: int) -> None:
    """Steal until SIGTERM."""
    bursts: list[tuple[int, int]] = []
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    chance, stretch, now = random.Random(seed), round(burst_ns / share), time.time_ns
    at = now()
    while not ended:
        start = at + chance.randrange(stretch - burst_ns)
        time.sleep(max(0, start - now()) / 1e9)
        first = now()
        while (last := now()) < first + burst_ns:
            pass
        bursts.append((first, last))
        at += stretch
    sys.stdout.write(json.dumps(bursts))


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    except PermissionError:
        sys.exit(1)
