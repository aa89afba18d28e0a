"""Runs during which the machine's clock is set, forwards and back by up to ten years.

What jumps is the date that the lab's own process reads. In a guest the date is virtual time's, and what the supervisor
measures is `CLOCK_MONOTONIC`, which nobody can set.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import lab.cli
import lab.record.date
from lab.base import cache
from tests.campaign.isolated import Broken
from tests.campaign.runs import Reference, ended, started

__all__ = ["jump"]

TEN_YEARS = 10 * 365 * 86400
OFTEN = 0.3  # of the readings, with a jump before it
SHARED = (
    "kernels",
    "userlands",
)  # what a run reads of the cache; the rest is its own, so that nothing real goes by age


def jump(number: int, seed: int, of: Reference) -> None:
    """Run the claim under such a clock, then again under a right one. Raises Broken."""
    with tempfile.TemporaryDirectory(prefix="replab-campaign-") as scratch:
        own = Path(scratch, "cache", "replab")
        own.mkdir(parents=True)
        for name in SHARED:
            (own / name).symlink_to(cache.folder(name))
        env = {**os.environ, "XDG_CACHE_HOME": str(own.parent)}
        program = (sys.executable, "-m", "tests.campaign.clock", f"{seed}/clock/{number}")
        env["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), env.get("PYTHONPATH", "")])
        results = Path(scratch, "results")
        ran = ended(started(of.folder, results, env, program))
        if ran.code != of.code:
            raise Broken(f"under a clock that jumps it ends with {ran.code} instead of {of.code}: {ran.said}")
        of.holds(results, env)


class _Jumping:
    """How far the date is off: now and then it jumps."""

    def __init__(self, seed: str) -> None:
        self._chance = random.Random(seed)
        self._seconds = 0.0

    def seconds(self) -> float:
        if self._chance.random() < OFTEN:
            self._seconds = self._chance.uniform(-TEN_YEARS, TEN_YEARS)
        return self._seconds


def _main(seed: str) -> None:
    """Do what `lab` does, under a clock that jumps."""
    off, right = _Jumping(seed), time.time

    class Dates(datetime):
        """Dates by that clock."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + timedelta(seconds=off.seconds())

    lab.record.date.datetime = Dates  # type: ignore[attr-defined]
    time.time = lambda: right() + off.seconds()
    sys.argv = ["lab", *sys.argv[2:]]
    lab.cli.main()


if __name__ == "__main__":
    _main(sys.argv[1])
