"""Remember how builds went on this machine, to say how long the next one will take."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Pace", "expected", "note"]


@dataclass(frozen=True, slots=True)
class Pace:
    """Say what a build of a plain kernel took."""

    objects: int  # compiled, archived and linked
    seconds: float  # with the compiler at hand, without what ccache had


USUAL = Pace(1330, 360.0)  # of one CPU, where nothing was built yet
FILE = "pace.json"


def expected(home: Path, series: str) -> Pace:
    """Return what a build of this series, or of another, took last in `home`; else what one on our CPUs may take."""
    known = _all(home)
    try:
        return Pace(**(known.get(series) or next(iter(known.values()))))  # type: ignore[arg-type]  # checked where it is used
    except (StopIteration, TypeError):
        return Pace(USUAL.objects, USUAL.seconds / len(os.sched_getaffinity(0)))


def note(home: Path, series: str, pace: Pace) -> None:
    """Keep what a build took, whole or not at all. The caller holds the build's lock."""
    partial = home / f".{FILE}"
    partial.write_text(json.dumps({**_all(home), series: asdict(pace)}, indent=1) + "\n", encoding="utf-8")
    partial.rename(home / FILE)


def _all(home: Path) -> dict[str, dict[str, float]]:
    try:
        found: dict[str, dict[str, float]] = dict(json.loads((home / FILE).read_text(encoding="utf-8")))
        return found
    except (OSError, ValueError, TypeError, RecursionError):
        return {}
