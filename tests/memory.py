"""Keep the files of tests in memory: a file or a folder is made there in less CPU time.

An ext4 file system took 10 to 23 % of the CPU time of `make check`, on a machine with other work.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["MEMORY", "ROOM", "ROOT", "has_room"]

MEMORY = Path("/dev/shm")
ROOM = 1 << 30  # bytes; a run of `make check` needed 24 MB, and a container has 64 MiB by default
ROOT = "PYTEST_DEBUG_TEMPROOT"  # the variable with which pytest is told where to make its folders


def has_room(memory: Path = MEMORY) -> bool:
    """Return whether tests can have files there: they fill no memory that is scarce, and start programs."""
    try:
        found = os.statvfs(memory)
    except OSError:
        return False
    is_roomy = found.f_bavail * found.f_frsize >= ROOM
    return is_roomy and not found.f_flag & os.ST_NOEXEC and os.access(memory, os.W_OK | os.X_OK)
