"""Say what room trials need, of the disk and of memory, what there is, and refuse to begin where that will not do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lab.errors import MachineError
from lab.runner.cost import Cost

__all__ = ["NoRoom", "Room", "amount", "check", "free", "needed"]

READING = 2  # of memory for each byte of a record whose captures are read to judge it
CGROUP = Path("/sys/fs/cgroup")
MEMINFO = Path("/proc/meminfo")
_UNITS = ("B", "kB", "MB", "GB", "TB")
_STEP = 1000


class NoRoom(MachineError):
    """Raised before anything runs when the disk or the memory will not do."""


@dataclass(frozen=True)
class Room:
    """Holds bytes of disk and of memory; None where this machine does not tell."""

    disk: int
    memory: int | None

    def plain(self) -> dict[str, int | None]:
        """Return this for JSON."""
        return {"disk": self.disk, "memory": self.memory}


def needed(costs: Iterable[Cost], jobs: int | None) -> Room:
    """Return what these trials need, `jobs` at once: all records, the largest guests, and the largest record, read."""
    found = list(costs)
    guests = sorted((each.memory for each in found), reverse=True)[: jobs or len(os.sched_getaffinity(0))]
    read = READING * max((each.disk for each in found), default=0)
    return Room(sum(each.disk for each in found), sum(guests) + read)


def free(folder: Path) -> Room:
    """Return what is free for a store at `folder`, which need not exist, and of memory, within our control group."""
    place = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    return Room(shutil.disk_usage(place).free, min((each for each in (_machine(), _group()) if each), default=None))


def check(wanted: Room, folder: Path) -> None:
    """Raise NoRoom where the machine is known to have less than the trials need."""
    there = free(folder)
    lacking = []
    if wanted.disk > there.disk:
        lacking.append(f"{amount(wanted.disk)} of disk, and {folder} has {amount(there.disk)}")
    if wanted.memory is not None and there.memory is not None and wanted.memory > there.memory:
        lacking.append(f"{amount(wanted.memory)} of memory, and {amount(there.memory)} are free")
    if lacking:
        cure = "--jobs 1 needs least memory; --anyway begins all the same"
        raise NoRoom(f"these trials need about {'; '.join(lacking)} ({cure})")


def amount(count: float) -> str:
    """Return a number of bytes as a person says it: 1.7 GB."""
    for unit in _UNITS[:-1]:
        if count < _STEP - 0.5:  # three digits would round the rest up to 1e+03
            return f"{count:.3g} {unit}"
        count /= _STEP
    return f"{count:.3g} {_UNITS[-1]}"


def _machine() -> int | None:
    try:
        fields = dict(line.split(":", 1) for line in MEMINFO.read_text().splitlines())
        return 1024 * int(fields["MemAvailable"].split()[0])
    except (OSError, ValueError, KeyError):
        return None


def _group() -> int | None:
    """Return what our control group, and those above it, leave; None without a limit."""
    try:
        own = CGROUP / Path("/proc/self/cgroup").read_text().strip().partition("::")[2].lstrip("/")
    except OSError:
        return None
    left = []
    for group in (own, *own.parents):
        try:
            limit = (group / "memory.max").read_text().strip()
            if limit != "max":
                left.append(max(0, int(limit) - int((group / "memory.current").read_text())))
        except (OSError, ValueError):
            continue
    return min(left, default=None)
