"""Measure what handing out costs: empty tasks through Dask's scheduler, by the lab's own crew.

    python -m bench.scheduling [--tasks 20000] [--workers 2] [--threads 100]

Each task does all that a trial's does, but for the trial and its record. Prints one JSON document: tasks a second, and
the CPU time and the memory of this process, in which the scheduler runs too; the memory after every tenth of the tasks.
"""

from __future__ import annotations

import argparse
import io
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from distributed import Client, LocalCluster, get_worker

from lab.ext.cluster import executor as crew
from lab.ext.cluster import where
from lab.ext.cluster import worker_tasks as pilot
from lab.guest.trial import Trial
from lab.machine.kernel import Budget, choose
from lab.record.store import Store
from lab.runner.progress import ProgressLines


def empty(_: pilot.Plain) -> pilot.Plain:
    """Answer as `pilot.perform` does for a trial that failed at once: there is no record to write."""
    worker = get_worker().address
    return {"worker": worker, "archive": None, "error": "empty", "exit_code": 1, "console": b"", "unfit": False}


def trials(count: int, kernel: dict[str, Any]) -> list[Trial]:
    """Return trials that differ by their seed, as large as usual ones."""
    plain: dict[str, Any] = {"network": {"name": "n" * 2000}, "workload": {}, "probes": [], "middleboxes": []}
    plain |= {"claim": "a/b", "arm": "c", "point": "", "source_sha256": "", "kernel": kernel, "tools": {}}
    return [Trial(**plain, on="uml", clock="virtual", seed=seed, repeat=0) for seed in range(1, count + 1)]


def measure(tasks: int, workers: int, threads: int) -> dict[str, Any]:
    """Hand out that many tasks to workers that each perform so many at once."""
    kernel = choose("uml")
    wanted = trials(tasks, kernel.describe())
    cost = {trial.address: 1.0 for trial in wanted}
    display = ProgressLines(tasks, io.StringIO())
    memory = [_megabytes()]
    with tempfile.TemporaryDirectory() as results, patch.object(pilot, "perform", empty):
        size = {"n_workers": workers, "threads_per_worker": threads}
        with (
            where.lean(),
            LocalCluster(**size, host="127.0.0.1", dashboard_address=None) as cluster,
            Client(cluster) as client,
            crew.assembled(client, Store(Path(results)), [kernel], Budget(), lambda _: None, cost, display) as pilots,
        ):
            begun, used = 0.0, 0.0
            for number, _ in enumerate(pilots.perform(wanted, display.started)):
                if not begun:  # workers have joined
                    begun, used = time.monotonic(), time.process_time()
                if number % (tasks // 10) == 0:
                    memory.append(_megabytes())
            seconds, cpu = time.monotonic() - begun, time.process_time() - used
    return {
        "tasks": tasks,
        "slots": workers * threads,
        "tasks_a_second": round(tasks / seconds),
        "tasks_a_cpu_second": round(tasks / cpu),  # of this process; the workers' own time is not in it
        "megabytes": memory,
    }


def _megabytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 10**6


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=100)
    options = parser.parse_args()
    print(json.dumps(measure(options.tasks, options.workers, options.threads)))
