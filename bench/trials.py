"""Time whole trials from outside: one `lab run` each, with empty results."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from lab.errors import LabError

LAB = Path(sys.executable).with_name("lab")
EXPERIMENTS = Path(__file__).parent / "experiments"


@dataclass(frozen=True, slots=True)
class Timed:
    """Name an experiment of bench/experiments."""

    name: str
    title: str
    seconds: float  # that pass in its trial; 0: no matter
    runs: int


@dataclass(frozen=True, slots=True)
class Took:
    """Holds what one run took: seconds of wall time, and of CPU in all its processes; and what `--json` printed."""

    wall: float
    cpu: float
    answer: str


# The first one is run once beforehand, so that the disk cache is as warm for it as for the others.
TRIALS = (
    Timed("empty", "empty trial: two hosts, one ping", 0, 10),
    Timed("bulk-10g", "bulk, 2 s at 10 Gbit/s in frames", 2, 3),
    Timed("bulk-1g", "bulk, 10 s at 1 Gbit/s in frames", 10, 5),
)


def time(trial: Timed, scratch: Path) -> list[Took]:
    """Return what every run took; the last run's results stay. Raises LabError."""
    if trial is TRIALS[0]:
        _run(trial, scratch)
    return [_run(trial, scratch) for _ in range(trial.runs)]


def capture(scratch: Path) -> Path:
    """Return the capture that the last run left. Raises LabError."""
    for file in (scratch / "results").rglob("capture.*.pcap"):
        return file
    raise LabError("the last trial left no capture")


def cpu() -> float:
    """Return the seconds of CPU that processes took which this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(trial: Timed, scratch: Path) -> Took:
    results = scratch / "results"
    shutil.rmtree(results, ignore_errors=True)
    experiment = EXPERIMENTS / f"{trial.name}.py"
    argv = [str(LAB), "run", str(experiment), "--results", str(results), "--jobs", "1", "--json"]
    start, before = perf_counter(), cpu()
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    took = Took(perf_counter() - start, cpu() - before, done.stdout)
    if done.returncode != 0:
        raise LabError(f"{trial.name} failed: {_reason(done.stdout) or done.stderr.strip()}")
    return took


def _reason(answer: str) -> str:
    """Say why the claim was not reproduced, from what `lab run --json` said."""
    try:
        return "; ".join(f"{claim['verdict']}: {claim['reason']}" for claim in json.loads(answer)["claims"])
    except (ValueError, KeyError):
        return ""
