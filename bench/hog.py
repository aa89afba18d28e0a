"""Steal a CPU's time in bursts, and say exactly when: `python -m bench.hog CPU SHARE NANOSECONDS SEED`.

Each burst starts at random in a stretch of its own, so that over any time long enough the share is what was asked for.
Between bursts it wakes up at random moments and notes how late that was: nothing but the machine itself can hold it
up. At SIGTERM it writes `{"bursts": [[start, end], ...], "probes": [[due, woken], ...]}` to standard output, in
nanoseconds of the wall clock. It needs the right to real-time priority, above that of any monitor: what it takes
nobody else gets.
"""

from __future__ import annotations

import ctypes
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
from statistics import median

from lab.errors import MachineError

PRIORITY = 50
PROBE_NS = 10_000_000  # one in each: rarely enough to cost 0.3 % of the CPU, in pieces that nobody notices
UNDISTURBED_NS = 1_000_000_000  # the stretch where nothing is stolen
PR_SET_TIMERSLACK = 29


@dataclass
class Disturbance:
    """Hold when the CPU was taken, by the hog and by the machine: known when the hog has ended."""

    bursts: list[tuple[int, int]] = field(default_factory=list)
    probes: list[tuple[int, int]] = field(default_factory=list)

    def stolen(self, start: int, end: int) -> float:
        """Return which share of the time from `start` to `end` the hog took."""
        return sum(max(0, min(end, last) - max(start, first)) for first, last in self.bursts) / (end - start)

    def away(self, start: int, end: int, tolerated: float) -> float:
        """Estimate for which share of the time from `start` to `end` the machine itself was away.

        It is the share of probes that woke up later than usual by more than `tolerated` seconds: they are moments at
        random.
        """
        late = [woken - due for due, woken in self.probes if start <= due < end]
        return sum(each - median(late) > 1e9 * tolerated for each in late) / len(late) if late else 0.0


@contextmanager
def disturbing(cpu: int, share: float, burst_ns: int, seed: int) -> Iterator[Disturbance]:
    """Steal within this context. Raises MachineError where real-time priority is forbidden."""
    disturbance = Disturbance()
    argv = [sys.executable, "-m", "bench.hog", str(cpu), str(share), str(burst_ns), str(seed)]
    hog = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        yield disturbance
    finally:
        hog.terminate()
        said, _ = hog.communicate()
    if hog.returncode:
        raise MachineError("stealing a CPU's time takes the right to real-time priority: run it as root")
    found = json.loads(said)
    disturbance.bursts += [(start, end) for start, end in found["bursts"]]
    disturbance.probes += [(due, woken) for due, woken in found["probes"]]


def main(cpu: int, share: float, burst_ns: int, seed: int) -> None:
    """Steal until SIGTERM."""
    bursts: list[tuple[int, int]] = []
    probes: list[tuple[int, int]] = []
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    chance, now = random.Random(seed), time.time_ns
    stretch = round(burst_ns / share) if share else UNDISTURBED_NS
    at = now()
    while not ended:
        start = at + (chance.randrange(stretch - burst_ns) if share else stretch)
        while not ended and (due := now() + chance.randrange(2 * PROBE_NS)) < start:
            _sleep_until(due)
            probes.append((due, now()))
        if share and not ended:
            _sleep_until(start)
            first = now()
            while (last := now()) < first + burst_ns:
                pass
            bursts.append((first, last))
        at += stretch
    sys.stdout.write(json.dumps({"bursts": bursts, "probes": probes}))


def _sleep_until(moment: int) -> None:
    time.sleep(max(0, moment - time.time_ns()) / 1e9)


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    except PermissionError:
        sys.exit(1)
