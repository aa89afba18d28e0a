"""Move and link files and create folders on file servers that may execute a request but lose the reply, as NFS can.

If a reply is lost, the client repeats the request, and gets an error that the source is missing or the target exists.
So the request appears to have failed, although the server has executed it. A file keeps its inode number when it is
moved, so this module compares inode numbers before it reports the error.

`entries` lists a folder, and raises an error if `Path.glob` would silently find no files.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from lab.errors import MachineError


def entries(folder: Path) -> list[Path]:
    """Return the contents of a folder, sorted; [] if there is no such folder.

    Raises MachineError if the folder is unreadable. `Path.glob` would treat such a folder as empty.
    """
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise MachineError(f"the folder {folder} cannot be read: {error.strerror}") from error


def move(source: Path, target: Path) -> None:
    """Rename a file or a folder.

    The function replaces a file or an empty folder at the target. Raises OSError if the source did not move.
    """
    before = source.lstat()
    try:
        source.replace(target)
    except OSError:
        if not _is(target, before):
            raise


def place(fresh: Path, target: Path) -> None:
    """Move a complete folder to its place, unless it exists, since folders with the same name have the same contents.

    Raises OSError if the folder is not there afterwards.
    """
    try:
        fresh.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def link(source: Path, target: Path) -> None:
    """Give a file an additional name. Raises OSError if the link was not created."""
    try:
        os.link(source, target)
    except OSError:
        if not _is(target, source.lstat()):
            raise


def make(folder: Path) -> None:
    """Create a folder. An existing empty folder is accepted. Raises OSError if any other file has the name."""
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir() or any(folder.iterdir()):
            raise


def _is(path: Path, wanted: os.stat_result) -> bool:
    with suppress(OSError):
        return os.path.samestat(path.lstat(), wanted)
    return False
