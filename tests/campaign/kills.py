"""Runs that are killed at a random moment, and several commands on one store at once."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from tests.campaign.hanging import Watch, descendants
from tests.campaign.isolated import Broken
from tests.campaign.runs import CPU, Reference, ended, gone, started
from tests.runner.killing import LAB

__all__ = ["kill", "together"]

VICTIMS = ("run", "run", "one below", "all")


def kill(number: int, seed: int, of: Reference) -> None:
    """Kill a run, or what it started; the next run ends well. Raises Broken."""
    chance = random.Random(f"{seed}/kill/{number}")
    with tempfile.TemporaryDirectory(prefix="replab-campaign-") as scratch:
        results = Path(scratch, "results")
        run = started(of.folder, results)
        time.sleep(chance.uniform(0, of.seconds))
        below = descendants(run.pid)
        match chance.choice(VICTIMS):
            case "one below" if below:
                doomed = [chance.choice(below)]
            case "all":
                doomed = [run.pid, *below]
            case _:
                doomed = [run.pid]
        for pid in doomed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if run.pid in doomed:
            run.communicate()
        else:
            ended(run)
        gone(iter(below))
        of.holds(results)


def together(number: int, seed: int, of: Reference) -> None:
    """Run the claim twice at once on one store, with removals and checks between. Raises Broken."""
    chance = random.Random(f"{seed}/together/{number}")
    with tempfile.TemporaryDirectory(prefix="replab-campaign-") as scratch:
        results = Path(scratch, "results")
        runs = [started(of.folder, results)]
        time.sleep(chance.uniform(0, of.seconds))
        runs.append(started(of.folder, results))
        watches = [Watch(run.pid, CPU) for run in runs]
        while any(run.poll() is None for run in runs) and not any(watch.look() for watch in watches):
            _beside(chance.choice([["gc", "test", "--yes"], ["gc", "--older-than", "0", "--yes"], ["du"]]), results)
            time.sleep(chance.uniform(0, of.seconds / 2))
        for run in runs:
            if (ran := ended(run)).code != of.code:
                raise Broken(f"one of two runs ends with {ran.code} instead of {of.code}: {ran.said}")
        of.holds(results)


def _beside(command: list[str], results: Path) -> None:
    """Type a `lab store` command. Before the store is there, or while it is in use, it says so."""
    done = subprocess.run([LAB, "store", *command, "--results", results], capture_output=True, text=True)
    if done.returncode not in (0, 2, 3) or "Traceback (most" in done.stderr:
        raise Broken(f"lab store {' '.join(command)} ends with {done.returncode}: {done.stderr}")
