"""Compare a cluster with this machine alone: the same bytes, and how much slower.

    python -m bench.cluster FOLDER [CLAIM ...] [--shards 16]

Runs all trials of the claims (all claims unless named) that may travel, each time into a store of its own below FOLDER:
by the machine's cores; by `--cluster local:N`, N being the number of cores; by as many workers that were started on
their own, with nothing in their caches, and send their records; and, with --shards, in so many shards, then merged.
Prints one JSON document: the seconds of each, its ratio to the first, and which files of which records differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LAB = (sys.executable, "-c", "from lab.cli import main; main()")
CORES = len(os.sched_getaffinity(0))


def timed(results: Path, claims: Sequence[str], *options: str) -> float:
    """Run the trials into `results`; return the seconds. Raises CalledProcessError."""
    begun = time.monotonic()
    argv = [*LAB, "run", *claims, "--results", str(results), *options]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


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
    seconds = {"alone": timed(folder / "alone", claims, "--shard", "1/1")}
    seconds["local"] = timed(folder / "local", claims, "--shard", "1/1", "--cluster", f"local:{CORES}")
    with workers(folder) as file:
        seconds["workers"] = timed(folder / "workers", claims, "--shard", "1/1", "--cluster", file)
    if shards:
        parts = [folder / f"shard-{number}" for number in range(1, shards + 1)]
        each = [timed(part, claims, "--shard", f"{number}/{shards}") for number, part in enumerate(parts, 1)]
        argv = [*LAB, "merge", *map(str, parts), "--results", str(folder / "shards")]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        seconds |= {"shards": sum(each), "longest shard": max(each)}
    return {
        "records": len(_files(folder / "alone")) // 2,
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "ratio": {name: round(seconds[name] / seconds["alone"], 3) for name in seconds if name != "longest shard"},
        "differing": {name: differing(folder / "alone", folder / name) for name in seconds if (folder / name).is_dir()},
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
