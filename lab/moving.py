"""Move and link files and make folders where a file server may do what it is told and lose its answer, as NFS's can.

The client asks again then, and hears that there is no such source, or that the target is there already: what was done
counts as failed. A file keeps its number wherever it is moved, so we look for it before we believe that.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["link", "make", "move"]


def move(source: Path, target: Path) -> None:
    """Rename a file or a folder, over a file or an empty folder that is there. Raises OSError when it did not move."""
    before = source.lstat()
    try:
        source.replace(target)
    except OSError:
        if not _is(target, before):
            raise


def link(source: Path, target: Path) -> None:
    """Give a file one more name. Raises OSError when it has not got it."""
    try:
        os.link(source, target)
    except OSError:
        if not _is(target, source.lstat()):
            raise


def make(folder: Path) -> None:
    """Make a folder; an empty one that is there counts as made. Raises OSError for any other thing of that name."""
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir() or any(folder.iterdir()):
            raise


def _is(path: Path, wanted: os.stat_result) -> bool:
    with suppress(OSError):
        return os.path.samestat(path.lstat(), wanted)
    return False
