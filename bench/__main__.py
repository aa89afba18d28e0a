"""Measure how long whole trials and reading a capture take, and how fast networks come up, also next to Mininet's.

Trials are compared with the time that passes in them. Every figure is the least, the median and the most of several
runs, all on one CPU. A trial is timed as a user sees it: one `lab run` with empty results, from its start to its
verdict; boot, capture and analysis included.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from bench import fabrics, readers, trials
from bench.table import table
from lab.errors import LabError

SCRATCH = Path("build")  # not /tmp: where that is memory, captures would fill it


def main() -> int:
    """Run everything; return the exit code of the first failure."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    SCRATCH.mkdir(exist_ok=True)
    console = Console(highlight=False)
    scratch = Path(tempfile.mkdtemp(prefix="bench-", dir=SCRATCH))
    try:
        timed = {trial: trials.time(trial, scratch) for trial in trials.TRIALS}
        console.print(table("seconds of wall time", {trial.title: timed[trial] for trial in timed}, "{:.2f}"))
        ratios = {trial.title: [trial.seconds / wall for wall in timed[trial]] for trial in timed if trial.seconds}
        console.print(table("times faster than real time", ratios, "{:.2f}"))
        rates = readers.compare(trials.capture(scratch), scratch)
        console.print(table("thousand packets a second", rates, "{:,.0f}"))
        seconds, faster = fabrics.time(scratch)
        console.print(table("seconds, in one guest in real time", seconds, "{:.2f}"))
        console.print(table("times faster than Mininet's own", faster, "{:.1f}"))
    except LabError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
