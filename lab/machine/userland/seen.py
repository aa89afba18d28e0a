"""Remember that a userland was read and found intact, until the file system shows a change in the userland.

The check uses attributes that every write changes: each file's inode number, length, mtime and ctime, as in git's
index. The check does not find bits that the disk itself has lost; `lab doctor` reads every byte.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from lab.base import cache
from lab.base.writing import write
from lab.errors import MachineError
from lab.machine.userland.cache import Userland

_SETTLED_NS = 2 * 10**9  # a change within the same tick of the file system's clock leaves the same date


class _Look(NamedTuple):
    """Holds a digest of a userland's file attributes."""

    sha256: str
    changed_ns: int  # the last change of any part


def differing(userland: Userland) -> list[str]:
    """Return the paths that have changed since the userland was built, or [] if it is intact.

    The function reads the files only if no earlier check is remembered. Raises OSError.
    """
    kept, begun, look = cache.folder("seen") / userland.id, time.time_ns(), _look(userland.tree.parent)
    with suppress(OSError, UnicodeDecodeError):
        if kept.read_text(encoding="ascii") == look.sha256:
            return []
    found = userland.altered()
    if not found and look.changed_ns < begun - _SETTLED_NS and _look(userland.tree.parent) == look:
        with suppress(MachineError):  # the cache may be read-only
            write(look.sha256, kept)
    return found


def _look(top: Path) -> _Look:
    """Read the attributes of all files in a folder, without reading the files."""
    lines, changed, left = list[str](), 0, [(str(top), "")]
    while left:
        folder, inside = left.pop()
        with os.scandir(folder) as entries:
            for each in entries:
                name, about = f"{inside}{each.name}", each.stat(follow_symlinks=False)
                changed = max(changed, about.st_ctime_ns)
                lines.append(
                    f"{name}\0{about.st_mode} {about.st_dev} {about.st_ino} {about.st_size} "
                    f"{about.st_mtime_ns} {about.st_ctime_ns}\n"
                )
                if each.is_dir(follow_symlinks=False):
                    left.append((each.path, f"{name}/"))
    whole = "".join(sorted(lines)).encode("utf-8", "surrogateescape")
    return _Look(hashlib.sha256(whole).hexdigest(), changed)
