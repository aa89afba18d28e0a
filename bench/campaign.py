"""Simulate campaigns that are too large to run here: how busy cores are, and the caller that serves them.

    python -m bench.campaign RESULTS [--caller-ms 8]

Trials take what those in RESULTS took, drawn by a fixed seed. A caller serves one trial at a time: it hands it out and
takes it back, for CALLER_MS in all. Prints one JSON document: for each number of trials and cores the hours that this
takes, and the part of the cores' time that trials use.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.record.store import Store
from lab.runner.schedule import travels

CAMPAIGNS = ((10_000, 16), (10_000, 200), (1_000_000, 200), (1_000_000, 1_000), (1_000_000, 5_000))


def seconds_of(results: Path) -> list[float]:
    """Return what each trial that may travel took, in seconds of a core."""
    return [float(record.host["cpu_seconds"]) for record in Store(results) if travels(record.trial)]


def simulate(taken: Sequence[float], trials: int, cores: int, caller: float) -> dict[str, Any]:
    """Let a campaign run: a core asks for its next trial when it has handed back the one before."""
    chance = random.Random(1)
    free = [(0.0, core) for core in range(cores)]  # when each core asks the caller, and which
    served = busy = end = 0.0
    for _ in range(trials):
        asked, core = heapq.heappop(free)
        served = max(served, asked) + caller
        seconds = chance.choice(taken)
        busy += seconds
        end = max(end, served + seconds)
        heapq.heappush(free, (served + seconds, core))
    return {
        "trials": trials,
        "cores": cores,
        "hours": round(end / 3600, 2),
        "cores_used": round(busy / (cores * end), 3),
        "caller_used": round(trials * caller / end, 3),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--caller-ms", type=float, default=8.0)
    options = parser.parse_args()
    trials = seconds_of(options.results)
    caller = options.caller_ms / 1000
    print(json.dumps([simulate(trials, count, cores, caller) for count, cores in CAMPAIGNS], indent=1))
