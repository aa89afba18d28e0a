"""Compare a cluster with this machine alone: the same bytes, and how much slower.

    python -m bench.cluster FOLDER [CLAIM ...] [--shards 16]

Runs all trials of the claims (all claims unless named) that may travel, each time into a store of its own below FOLDER:
by the machine's cores; by `--cluster local:N`, N being the number of cores; by as many workers that were started on
their own, as docs/scale.md says, with nothing in their caches, and send their records; and, with --shards, in so many
shards, then merged. Prints one JSON document: the seconds of each, and the CPU's, that of schedulers and workers
included, with their ratios to the first; and which files of which records differ. On a busy machine the CPU's ratio
says more than the seconds'.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

LAB = (sys.executable, "-c", "from lab.cli import main; main()")
LEAN = Path(__file__).parents[1] / "recipes" / "dask.yaml"
CORES = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Spent:
    """What one way took: seconds, and those of the CPU in all processes that ended with it."""

    seconds: float
    cpu: float

    def __add__(self, other: Spent) -> Spent:
        """Return what both took, one after the other."""
        return Spent(self.seconds + other.seconds, self.cpu + other.cpu)

    def over(self, base: Spent) -> dict[str, float]:
        """Return it as plain figures, with its ratio to `base`."""
        ratios = {"ratio": round(self.seconds / base.seconds, 3), "cpu_ratio": round(self.cpu / base.cpu, 3)}
        return {"seconds": round(self.seconds, 1), "cpu_seconds": round(self.cpu, 1), **ratios}


def run(results: Path, claims: Sequence[str], *options: str) -> Spent:
    """Run the trials into `results`, without those that may not travel unless `options` say otherwise."""
    begun, used = time.monotonic(), _cpu_seconds()
    _lab("run", *claims, "--results", str(results), *(options or ("--shard", "1/1")))
    return Spent(time.monotonic() - begun, _cpu_seconds() - used)


def run_by_workers(folder: Path, claims: Sequence[str]) -> Spent:
    """Run the trials by workers that were started before, with a scheduler of their own. Their CPU time counts, too."""
    used = _cpu_seconds()
    with workers(folder) as file:
        found = run(folder / "workers", claims, "--shard", "1/1", "--cluster", file)
    return Spent(found.seconds, _cpu_seconds() - used)


def _lab(*arguments: str) -> None:
    subprocess.run([*LAB, *arguments], check=True, stdout=subprocess.DEVNULL)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def workers(folder: Path) -> Iterator[str]:
    """Start a scheduler, and a worker for each core with nothing in its cache; yield the scheduler's file."""
    file = folder / "scheduler.json"
    common = ["--scheduler-file", str(file), "--host", "127.0.0.1", "--no-dashboard"]
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", *common, "--port", "0"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", *common, "--nthreads", "1", "--no-nanny"]
    started = []
    try:
        with (folder / "dask.log").open("wb") as log:
            started.append(subprocess.Popen(scheduler, stdout=log, stderr=log))
            while not file.exists():
                time.sleep(0.1)
            for number in range(CORES):
                own = {"XDG_CACHE_HOME": str(folder / f"cache-{number}"), "DASK_REPLAB__SHARED": "False"}
                own |= {"DASK_CONFIG": str(LEAN)}
                local = ["--local-directory", str(folder / f"dask-{number}")]
                started.append(subprocess.Popen([*worker, *local], env=os.environ | own, stdout=log, stderr=log))
        yield str(file)
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def differing(base: Path, other: Path) -> list[str]:
    """Name the files that are the same wherever a trial runs, and are not the same in both stores."""
    before, after = (_files(root) for root in (base, other))
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _files(root: Path) -> dict[str, bytes]:
    found = [*root.glob("??/*/record.json"), *root.glob("??/*/trial.json")]  # record.json has the outputs' hashes
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def compare(folder: Path, claims: Sequence[str], shards: int) -> dict[str, Any]:
    """Run the trials in each of the ways."""
    folder.mkdir(parents=True)
    ways = {"alone": run(folder / "alone", claims)}
    ways["local"] = run(folder / "local", claims, "--shard", "1/1", "--cluster", f"local:{CORES}")
    ways["workers"] = run_by_workers(folder, claims)
    if shards:
        parts = [folder / f"shard-{number}" for number in range(1, shards + 1)]
        each = [run(part, claims, "--shard", f"{number}/{shards}") for number, part in enumerate(parts, 1)]
        _lab("merge", *map(str, parts), "--results", str(folder / "shards"))
        ways["shards"] = reduce(Spent.__add__, each)
        longest = {"longest_shard": max(each, key=lambda shard: shard.seconds).over(ways["alone"])}
    else:
        longest = {}
    return {
        "records": len(_files(folder / "alone")) // 2,
        "ways": {name: way.over(ways["alone"]) for name, way in ways.items()} | longest,
        "differing": {name: differing(folder / "alone", folder / name) for name in ways},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("claims", nargs="*")
    parser.add_argument("--shards", type=int, default=0)
    options = parser.parse_args()
    found = compare(options.folder, options.claims, options.shards)
    print(json.dumps(found, indent=1))
    sys.exit(any(found["differing"].values()))
