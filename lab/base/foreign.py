"""Handle files and text from a guest, a foreign build or a server. Standard library only, for `supervise.py`.

The module walks folders through descriptors, without recursion. It limits the nesting depth, the length of a path, the
number of files and their size, and follows no symbolic links. It also removes terminal control characters from text.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from _thread import get_native_id  # threading is a large module
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

FILE = 4096  # the least bytes that a file takes
_TIMES = 10  # how often a folder is emptied
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # do not wait for a pipe


class Unfit(Exception):
    """Raised if a folder or a file does not have the required form. The message can follow "left ..."."""


class TooLarge(Unfit):
    """Raised if all files below a folder together are too large."""


class FileBounds(NamedTuple):
    """Limits the contents of a folder."""

    depth: int = 32  # folders within each other
    path: int = 1024  # bytes of a path, from the folder
    files: int = 250_000  # files and folders
    size: int = 16 << 30  # bytes of all files: both their disk space and their lengths


class FolderEntry(NamedTuple):
    """Identifies a folder or a regular file below the walked folder."""

    path: str  # from the walked folder
    kind: Literal["folder", "file", "other"]  # "other": a link, for example


class _Open(NamedTuple):
    """Holds a folder during the walk."""

    handle: int
    prefix: str
    names: list[str]  # the last one is next


def walk(top: Path | str, bounds: FileBounds) -> Iterator[FolderEntry]:
    """Yield all entries below a folder, sorted within each folder, with a folder before its contents.

    Files that disappear during the walk are skipped. Raises Unfit for contents beyond the bounds and for names that are
    not UTF-8, and OSError if a folder cannot be read.
    """
    count = real = apparent = 0
    stack = [_opened(os.open(top, _FOLDER), "")]
    try:
        while stack:
            here = stack[-1]
            if not here.names:
                os.close(stack.pop().handle)
                continue
            name = here.names.pop()
            path = here.prefix + name
            try:
                raw = path.encode()
            except UnicodeEncodeError:
                raise Unfit(f"a file whose name is not UTF-8, {printable(path)}") from None
            if len(raw) > bounds.path:
                raise Unfit(f"a path of {len(raw)} bytes, {printable(path)[:40]}...; at most {bounds.path} are kept")
            try:
                about = os.stat(name, dir_fd=here.handle, follow_symlinks=False)
            except FileNotFoundError:
                continue
            count += 1
            real += max(FILE, about.st_blocks * 512)
            apparent += about.st_size if stat.S_ISREG(about.st_mode) else 0
            if count > bounds.files:
                raise Unfit(f"more than {bounds.files} files")
            if max(real, apparent) > bounds.size:
                raise TooLarge(f"files of more than {bounds.size >> 20} MiB")
            if stat.S_ISDIR(about.st_mode):
                if len(stack) >= bounds.depth:
                    raise Unfit(f"more than {bounds.depth} folders within each other, {printable(path)[:40]}...")
                yield FolderEntry(path, "folder")
                with contextlib.suppress(FileNotFoundError):
                    stack.append(_opened(os.open(name, _FOLDER, dir_fd=here.handle), f"{path}/"))
                continue
            yield FolderEntry(path, "file" if stat.S_ISREG(about.st_mode) else "other")
    finally:
        for each in stack:
            os.close(each.handle)


def _opened(handle: int, prefix: str) -> _Open:
    return _Open(handle, prefix, sorted(os.listdir(handle), reverse=True))


@contextlib.contextmanager
def opened(file: Path | str) -> Iterator[BinaryIO]:
    """Open a regular file for reading.

    Raises Unfit if the name refers to anything else, such as a link, and OSError.
    """
    try:
        handle = os.open(file, _PLAIN)
    except OSError as error:
        if os.path.islink(file):
            raise Unfit("a link") from error
        if error.errno == errno.ENXIO:
            raise Unfit("no file") from error
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Unfit("no file")
    with open(handle, "rb") as stream:
        yield stream


def read(file: Path | str, most: int) -> bytes:
    """Return the contents of a regular file.

    Raises Unfit for other file types and for more than `most` bytes, and OSError.
    """
    with opened(file) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise Unfit(f"more than {most} bytes")
    return content


def end(file: Path | str, most: int) -> str:
    """Return the last `most` bytes of a regular file as text, or "" if there is no file that can be read."""
    with contextlib.suppress(OSError, Unfit), opened(file) as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - most))
        return stream.read().decode(errors="replace")
    return ""


def remove(top: Path | str) -> None:
    """Remove a folder with its contents, or a link with this name, as far as possible, without raising errors.

    Subfolders are first moved up to the top, so that paths of any depth and length can be removed.
    """
    with contextlib.suppress(OSError):
        if os.path.islink(top):
            os.unlink(top)
            return
    for _ in range(_TIMES):  # another thread may be removing it, too, and may move folders that are already listed
        try:
            handle = os.open(top, _FOLDER)
        except OSError:
            return
        try:
            _empty(handle)
        finally:
            os.close(handle)
        with contextlib.suppress(OSError):
            os.rmdir(top)


def _empty(top: int) -> None:
    """Remove all contents of the folder that is open as `top`."""
    moved = 0
    left = _folders(top)
    while left:
        name = left.pop()
        try:
            handle = _entered(name, top)
        except OSError:
            continue
        try:
            for below in _folders(handle):
                moved += 1
                fresh = f".removed-{get_native_id()}-{moved}"
                with contextlib.suppress(OSError):  # a file server may move it and lose the reply
                    os.rename(below, fresh, src_dir_fd=handle, dst_dir_fd=top)
                left.append(fresh)
        finally:
            os.close(handle)
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=top)


def _entered(name: str, top: int) -> int:
    """Open a folder after restoring the permission to change it, which the folder's creator may have removed."""
    try:
        handle = os.open(name, _FOLDER, dir_fd=top)
    except PermissionError:
        os.chmod(name, stat.S_IRWXU, dir_fd=top)
        return os.open(name, _FOLDER, dir_fd=top)
    if os.fstat(handle).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        with contextlib.suppress(OSError):
            os.fchmod(handle, stat.S_IRWXU)
    return handle


def _folders(handle: int) -> list[str]:
    """Remove all entries except folders from the folder that is open as `handle`.

    Return the names of the subfolders.
    """
    folders = []
    for name in os.listdir(handle):
        try:
            os.unlink(name, dir_fd=handle)
        except OSError:
            with contextlib.suppress(OSError):
                if stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
                    folders.append(name)
    return folders


def printable(text: str) -> str:
    """Return the text with a replacement for each terminal control character, and for each text-direction character.

    Line ends and tabs stay. Surrogates, from file names that are not UTF-8, are also replaced.
    """
    return _ACTS.sub("\N{REPLACEMENT CHARACTER}", text)
