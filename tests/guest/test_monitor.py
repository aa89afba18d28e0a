"""The monitor sees time as it passes: a stall is as many late moments as it covers, and nothing keeps step with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import cast

import pytest

from lab.guest import monitor
from lab.guest.fabric.fabric import Fabric

STALL_NS = 60_000_000
GRID = """
import json, os, time
from lab.guest.monitor import _Monitor
watching = _Monitor(None, os.open("/dev/null", os.O_RDONLY))
print("started", flush=True)
start = time.monotonic_ns()
watching._wait(start, start + 500_000_000)
print(json.dumps(watching.late_ns))
"""


def test_a_stall_is_as_many_late_moments_as_it_covers() -> None:
    """The process is stopped for 60 ms: 30 moments of the grid are late, each by what is left of the stall."""
    child = subprocess.Popen([sys.executable, "-c", GRID], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert child.stdout.readline() == "started\n"
    time.sleep(0.1)
    child.send_signal(signal.SIGSTOP)
    start = time.monotonic_ns()
    time.sleep(STALL_NS / 1e9)
    child.send_signal(signal.SIGCONT)
    length = time.monotonic_ns() - start
    late = json.loads(child.communicate()[0])
    assert len(late) == 250
    covered = length // monitor.PERIOD_NS
    stalled = sorted(late, reverse=True)[:covered]
    assert max(late) > 0.9 * STALL_NS
    assert all(each > monitor.PERIOD_NS for each in stalled[:-2])
    assert median(stalled) > 0.4 * STALL_NS, "the later a moment in the stall, the less of the stall is left"


def test_no_disturbance_can_keep_in_step_with_the_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The moments are spread over the whole of their periods."""
    grid, due, now = monitor._Monitor(cast(Fabric, None), os.open(os.devnull, os.O_RDONLY)), [], [0]

    def sleep(seconds: float) -> None:
        now[0] += round(seconds * 1e9)
        due.append(now[0])

    monkeypatch.setattr(monitor, "time", SimpleNamespace(monotonic_ns=lambda: now[0], sleep=sleep))
    grid._wait(0, 200 * monitor.PERIOD_NS)
    assert grid.late_ns == [0] * 200
    phases = sorted(each % monitor.PERIOD_NS for each in due)
    assert max(after - before for before, after in pairwise(phases)) < 0.1 * monitor.PERIOD_NS


def test_what_counts_is_the_time_from_the_first_frame_to_the_last(tmp_path: Path) -> None:
    """Its counters are a file that changes 100 ms after the start, and last at 200 ms, of 300 ms in all."""
    file = tmp_path / "counters"
    file.write_text("0")
    grid = monitor._Monitor(cast(Fabric, None), os.open(file, os.O_RDONLY))
    changes = [threading.Timer(after, file.write_text, [str(after)]) for after in (0.1, 0.15, 0.2)]
    for each in changes:
        each.start()
    start = time.monotonic_ns()
    grid._wait(start, start + 300_000_000)
    for each in changes:
        each.join()
    assert len(grid.late_ns) == 150
    assert 30 < len(grid.in_use()) < 70
    assert monitor._Monitor(cast(Fabric, None), grid.counters).in_use() == []


def test_ready_processes_that_wait_are_counted_where_the_kernel_does() -> None:
    before = monitor._own()
    spinner = subprocess.Popen([sys.executable, "-c", "pass"], preexec_fn=lambda: os.sched_setaffinity(0, {0}))
    after = monitor._own()
    spinner.wait()
    assert after["processes"]
    if before["turns"] is None:
        assert (before["waited_ns"], after["turns"], after["waited_ns"]) == (None, None, None)
    else:
        assert after["turns"]
        assert after["waited_ns"]
