"""Count the disk space of files and folders like `du`: in blocks, and only once for a file with several names."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

BLOCK = 512  # bytes: the unit of st_blocks on every file system
_File = tuple[int, int]  # identifies a file under all its names


def taken(status: os.stat_result) -> int:
    """Return the disk space of a file or a folder, in bytes."""
    return status.st_blocks * BLOCK


def below(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield a folder and all entries below it, each with its status.

    Files that disappear during the walk are skipped.
    """
    left = [folder]
    while left:
        path = left.pop()
        with suppress(FileNotFoundError):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode):
                left += path.iterdir()
            yield path, status


def unseen(folder: Path, seen: set[_File]) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the files and folders of `below`, except files that are already in `seen` under another name."""
    for path, status in below(folder):
        if _file(status) not in seen:
            yield path, status
        if _is_shared(status):
            seen.add(_file(status))


def freed(folders: Sequence[Path]) -> Iterator[int]:
    """Yield, for each folder, the space in bytes that its removal frees after the removal of the previous folders.

    A file that also has a name in a remaining record, or in another store, stays on the disk.
    """
    names: Counter[_File] = Counter()
    for folder in folders:
        yield sum(_freed(below(folder), names))


def _freed(found: Iterable[tuple[Path, os.stat_result]], names: Counter[_File]) -> Iterator[int]:
    for _, status in found:
        if _is_shared(status):
            names[_file(status)] += 1
            if names[_file(status)] < status.st_nlink:
                continue
        yield taken(status)


def _file(status: os.stat_result) -> _File:
    return status.st_dev, status.st_ino


def _is_shared(status: os.stat_result) -> bool:
    return not stat.S_ISDIR(status.st_mode) and status.st_nlink > 1
