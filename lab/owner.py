"""Names that say whose a thing is, so that what a dead process left is told from what a living one uses."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

__all__ = ["is_dead", "owner", "remove"]


TRIES, TRY_SECONDS = 20, 0.1  # a supervisor looks after its parent every fifth of a second


def owner() -> str:
    """Node, boot, process id and the process's start time: no other process ever has all four."""
    return "~".join((os.uname().nodename, _boot(), str(os.getpid()), str(_started(os.getpid()))))


def is_dead(name: str) -> bool:
    """Whether the owner in `WHAT~OWNER~ANY` is gone. Another node's is left alone: it may share the file system."""
    match name.split("~"):
        case [_, node, boot, pid, started, _] if node == os.uname().nodename:
            return boot != _boot() or _started(int(pid)) != started
    return False


def remove(folder: Path) -> None:
    """Remove a dead owner's folder, though a guest of its may die a moment later than it did, and write until then."""
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(TRY_SECONDS)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _started(pid: int) -> str | None:
    """Start time of a live process, in ticks since boot; None without such a process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return None
