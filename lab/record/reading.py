"""Read untrusted files: only regular files, opened without following links, and only up to a bound."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DEPTH = 64  # the most folders within each other


def regular(path: Path, most: int) -> bytes:
    """Return the contents of a regular file of at most `most` bytes. Raises OSError for other file types."""
    with open(os.open(path, _FLAGS), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError("is not a regular file")
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(f"is larger than {most:,} bytes")
    return content


def is_regular(folder: Path, name: str) -> bool:
    """Return whether `name` leads from `folder` to a regular file, through folders only and not through links."""
    try:
        path = folder
        for part in PurePosixPath(name).parts:
            if not stat.S_ISDIR(path.lstat().st_mode):
                return False
            path /= part
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):  # it is missing, its name is too long, or its name has a NUL
        return False


def is_inside(name: str) -> bool:
    """Return whether a name is a normalised path below its folder."""
    path = PurePosixPath(name)
    return bool(path.parts) and str(path) == name and name[0] != "/" and ".." not in path.parts and "\0" not in name


def files_below(folder: Path) -> Iterator[str]:
    """Yield the files below a folder, including links but not folders, as paths relative to the folder.

    If a folder is too deep or unreadable, yield the folder itself.
    """
    left = [(folder, "", 0)]
    while left:
        path, name, depth = left.pop()
        entries: list[os.DirEntry[str]] = []
        with suppress(OSError), os.scandir(path) as found:
            entries = list(found) if depth < _DEPTH else []
        if not entries and name and not _is_empty(path):
            yield name
        for entry in entries:
            below = f"{name}/{entry.name}" if name else entry.name
            if entry.is_dir(follow_symlinks=False):
                left.append((path / entry.name, below, depth + 1))
            else:
                yield below


def _is_empty(path: Path) -> bool:
    try:
        with os.scandir(path) as found:
            return next(found, None) is None
    except OSError:
        return False
