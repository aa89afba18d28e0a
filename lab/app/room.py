"""Estimate the disk space and memory that trials need, and refuse to start if there is not enough."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lab.errors import MachineError
from lab.runner.cost import Cost
from lab.runner.schedule import at_once

READING = 2  # bytes of memory per byte of a record, to read its captures and judge it
CGROUP = Path("/sys/fs/cgroup")
MEMINFO = Path("/proc/meminfo")
_UNITS = ("B", "kB", "MB", "GB", "TB")
_STEP = 1000


class NoRoom(MachineError):
    """Raised before the first trial starts if there is too little disk space or memory."""


@dataclass(frozen=True)
class Room:
    """Holds amounts of disk space and memory in bytes; None if the machine does not report the amount."""

    disk: int
    memory: int | None

    def plain(self) -> dict[str, int | None]:
        """Return the amounts as plain data for JSON."""
        return {"disk": self.disk, "memory": self.memory}


def needed(costs: Iterable[Cost], jobs: int | None) -> Room:
    """Return the disk space and memory that these trials need if `jobs` of them run in parallel.

    The disk space covers all records. The memory covers the largest guests, and reading the largest record. Raises
    InputError if `jobs` is below 1.
    """
    at_once(jobs)
    found = list(costs)
    guests = sorted((each.memory for each in found), reverse=True)[: jobs or len(os.sched_getaffinity(0))]
    read = READING * max((each.disk for each in found), default=0)
    return Room(sum(each.disk for each in found), sum(guests) + read)


def free(folder: Path) -> Room:
    """Return the free disk space at `folder`, which need not exist, and the free memory of our control group."""
    place = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    return Room(shutil.disk_usage(place).free, min((each for each in (_machine(), _group()) if each), default=None))


def check(wanted: Room, folder: Path) -> None:
    """Raise NoRoom if the machine is known to have less space than the trials need."""
    there = free(folder)
    lacking = []
    if wanted.disk > there.disk:
        lacking.append(f"{amount(wanted.disk)} of disk, but {folder} has {amount(there.disk)}")
    if wanted.memory is not None and there.memory is not None and wanted.memory > there.memory:
        lacking.append(f"{amount(wanted.memory)} of memory, but {amount(there.memory)} are free")
    if lacking:
        cure = "--jobs 1 needs the least memory; --anyway starts despite this"
        raise NoRoom(f"these trials need about {'; '.join(lacking)} ({cure})")


def amount(count: float) -> str:
    """Return a number of bytes in words: "1.7 GB"."""
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
    """Return the free memory within the limits of this process's control groups, or None without a limit."""
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
