"""Count what files and folders take of a disk, as `du` does: in blocks, and once where they have several names."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["below", "freed", "taken", "unseen"]

BLOCK = 512  # bytes of which st_blocks counts, whatever the file system's own are
File = tuple[int, int]  # what all names of a file have in common


def taken(status: os.stat_result) -> int:
    """Return how many bytes of the disk a file or a folder takes."""
    return status.st_blocks * BLOCK


def below(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield a folder and all that is in it, each with its status; what goes meanwhile is left out."""
    left = [folder]
    while left:
        path = left.pop()
        with suppress(FileNotFoundError):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode):
                left += path.iterdir()
            yield path, status


def unseen(folder: Path, seen: set[File]) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield what `below` does, but nothing that was `seen` under another name."""
    for path, status in below(folder):
        if _file(status) not in seen:
            yield path, status
        if _is_shared(status):
            seen.add(_file(status))


def freed(folders: Sequence[Path]) -> Iterator[int]:
    """Yield for each folder what the disk gets back when it goes, once those before it have gone.

    A file that has a name elsewhere stays on the disk: in a record that stays, or in another store.
    """
    names: Counter[File] = Counter()
    for folder in folders:
        yield sum(_freed(below(folder), names))


def _freed(found: Iterable[tuple[Path, os.stat_result]], names: Counter[File]) -> Iterator[int]:
    for _, status in found:
        if _is_shared(status):
            names[_file(status)] += 1
            if names[_file(status)] < status.st_nlink:
                continue
        yield taken(status)


def _file(status: os.stat_result) -> File:
    return status.st_dev, status.st_ino


def _is_shared(status: os.stat_result) -> bool:
    return not stat.S_ISDIR(status.st_mode) and status.st_nlink > 1
