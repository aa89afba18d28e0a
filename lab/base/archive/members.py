"""Read a tar from an untrusted source, one member at a time, and never more than the file's size allows.

The module reads only the tar form that `tarfile` writes as PAX_FORMAT: files, folders and links, each with a header.
The module refuses GNU's sparse files and long names, global headers, and every field that has no meaning in this form.
`tarfile` itself would read a header of any size, one header within another, and a sparse file of any size.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from lab.base.archive.errors import ArchiveError

PIECE = 1 << 20
WINDOW = 1 << 23  # bytes of earlier data that Zstandard may refer to (RFC 8878, 3.1.1.1.2): ours takes 4 MiB
BLOCK = 512
HEADER = 1 << 14  # bytes: a path has at most 4,096 (PATH_MAX), and a link has two paths
DEPTH = 64  # folders
DATES = range(-(1 << 33), 1 << 34)  # a tar's own field holds times below 2^33, the year 2242
KINDS = {tarfile.REGTYPE: "file", tarfile.AREGTYPE: "file", tarfile.DIRTYPE: "folder", tarfile.SYMTYPE: "link"}
RECORD = re.compile(rb"(\d{1,5}) ([^=]+)=")


class _Source(Protocol):
    """Provides the bytes of a tar file for reading."""

    def read(self, size: int, /) -> bytes:
        """Return at most this many bytes, or b"" at the end."""


@dataclass(frozen=True)
class Bounds:
    """Limits the contents of an archive. A trial's outputs have at most 16 times the archive's size, and 15 files.

    Creating a file takes up to 0.25 ms of CPU time, so many empty files in a small archive are an attack.
    """

    bytes: int
    members: int

    @classmethod
    def of(cls, size: int) -> Bounds:
        """Return the bounds for a file of `size` bytes."""
        return cls((1 << 30) + 50 * size, 5_000 + size // 320)


class Members:
    """Iterates over the members of a tar file.

    Raises ArchiveError for a member in a form that this lab does not write, and EOFError if the tar is truncated.
    """

    def __init__(self, source: _Source, bounds: Bounds) -> None:
        self._source = source
        self._bounds = bounds
        self._bytes = 0
        self._unread = self._padding = 0  # unread bytes of the present member, and of the padding of its last block

    def __iter__(self) -> Iterator[tarfile.TarInfo]:
        number = 0
        while (member := self._next()) is not None:
            number += 1
            if number > self._bounds.members:
                raise ArchiveError(f"it holds more than {self._bounds.members:,} files and folders for its size")
            yield member

    def contents(self) -> Iterator[bytes]:
        """Yield the bytes of the iteration's current file."""
        while self._unread:
            piece = self._taken(min(PIECE, self._unread))
            self._unread -= len(piece)
            yield piece

    def _next(self) -> tarfile.TarInfo | None:
        for _ in self.contents():  # unread bytes of the member before
            pass
        self._exactly(self._padding)
        self._padding = 0
        extended: dict[str, str] = {}
        member = self._header()
        if member is not None and member.type == tarfile.XHDTYPE:
            if not 0 <= member.size <= HEADER:
                raise ArchiveError(f"it has a header of {member.size:,} bytes")
            extended = _extended(self._exactly(member.size))
            self._exactly(-member.size % BLOCK)
            member = self._header()
            if member is None:
                raise ArchiveError("a header belongs to no file")
        if member is None:
            return None
        _apply(member, extended)
        self._unread, self._padding = member.size, -member.size % BLOCK
        return member

    def _header(self) -> tarfile.TarInfo | None:
        block = self._exactly(BLOCK)
        if not any(block):  # two of these end a tar
            return None
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self._taken(size - len(data))
        return data

    def _taken(self, size: int) -> bytes:
        piece = self._source.read(size)
        if not piece:
            raise EOFError("it ends too early")
        self._bytes += len(piece)
        if self._bytes > self._bounds.bytes:
            raise ArchiveError(f"it holds more than {self._bounds.bytes:,} bytes for its size")
        return piece


def is_path(path: str) -> bool:
    """Return whether this is a plain path below the folder into which an archive is unpacked."""
    parts = path.split("/")
    return path.isprintable() and "\\" not in path and not {"", ".", ".."} & set(parts) and len(parts) <= DEPTH


def _extended(data: bytes) -> dict[str, str]:
    """Return the contents of an extended header: lines of "LENGTH KEY=VALUE" (POSIX, pax)."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        record = RECORD.match(data, at)
        end = at + int(record[1]) if record else 0
        if record is None or end <= record.end() or end > len(data) or data[end - 1 : end] != b"\n":
            raise ArchiveError("it has an invalid header")
        found[record[2].decode("utf-8", "replace")] = data[record.end() : end - 1].decode("utf-8", "surrogateescape")
        at = end
    return found


def _apply(member: tarfile.TarInfo, extended: dict[str, str]) -> None:
    """Set a member's fields from its extended header, and check the fields. Raises ArchiveError."""
    if unknown := extended.keys() - {"path", "linkpath", "size", "mtime"}:
        raise ArchiveError(f"it has a header with {min(unknown)!r}, which is unknown here")
    name = extended.get("path", member.name)
    member.name = name.rstrip("/") if member.isdir() else name
    member.linkname = extended.get("linkpath", member.linkname)
    for field in ("size", "mtime"):
        text = extended.get(field, "0")
        if not re.fullmatch(r"-?[0-9]{1,20}", text):
            raise ArchiveError(f"{member.name!r} has {text!r} as its {field}")
        if field in extended:
            setattr(member, field, int(text))
    if not is_path(member.name):
        raise ArchiveError(f"{member.name!r} is not a valid path in an archive")
    if member.type not in KINDS:
        raise ArchiveError(f"{member.name} is neither a file, a folder nor a link")
    if member.issym() and not member.linkname.isprintable():
        raise ArchiveError(f"{member.name} leads to {member.linkname!r}, which is not a valid path")
    if member.size < 0 or (member.size and not member.isreg()):
        raise ArchiveError(f"{member.name} is a {KINDS[member.type]} of {member.size:,} bytes")
    if member.mtime not in DATES:
        raise ArchiveError(f"{member.name} has an invalid date, {member.mtime}")
