"""Name the owner of a thing, so that what a dead process left can be told from what a living one uses."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

__all__ = ["is_dead", "owner", "remove"]


TRIES, TRY_SECONDS = 20, 0.1  # a supervisor checks on its parent every fifth of a second


def owner() -> str:
    """Name this process by its node, boot, process id and start time: no other process ever has all four."""
    return "~".join((os.uname().nodename, _boot(), str(os.getpid()), str(_started(os.getpid()))))


def is_dead(name: str) -> bool:
    """Return whether the owner in `WHAT~OWNER~ANY` is gone; False on another node, which may share the file system."""
    match name.split("~"):
        case [_, node, boot, pid, started, _] if node == os.uname().nodename:
            return boot != _boot() or _started(int(pid)) != started
    return False


def remove(folder: Path) -> None:
    """Remove a dead owner's folder. Retries, since a guest may outlive its owner by a moment and write until then."""
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(TRY_SECONDS)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _started(pid: int) -> str | None:
    """Return the start time of a live process, in ticks since boot; None when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return None
