"""Pack an output into `NAME.zst`, which replaces `NAME`, and unpack it for its readers.

In either form, a record's hashes and sizes refer to the trial's own bytes. `Record.path` unpacks a packed output into
the folder for temporary files, where the unpacked file stays while this process runs.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path

import msgspec
import zstandard

from lab.base import owner
from lab.errors import MachineError

SUFFIX = ".zst"
_LEVEL = 3  # 6 takes three times as long, and saves another tenth
_BLOCK = 1 << 20


class PackedError(Exception):
    """Raised if a packed output does not match the trial's output. The message can follow the name of the output."""


class Output(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes one of the trial's output files in out/."""

    sha256: str
    bytes: int


def form(plain: Path) -> Path:
    """Return the path of the packed form for the output at `plain`."""
    return plain.with_name(f"{plain.name}{SUFFIX}")


def pack(plain: Path, packed: Path) -> None:
    """Write the packed form of a file. Raises OSError."""
    compressor = zstandard.ZstdCompressor(_LEVEL, write_checksum=True, threads=len(os.sched_getaffinity(0)))
    with plain.open("rb") as source, packed.open("xb") as target:
        compressor.copy_stream(source, target, read_size=_BLOCK)


def unpack(packed: Path, plain: Path, wanted: Output) -> None:
    """Unpack into a new file. Raises PackedError if the result does not match `wanted`, and OSError."""
    with plain.open("xb") as target:
        check(packed, wanted, target.write)


def check(packed: Path, wanted: Output, take: Callable[[bytes], object] = len) -> None:
    """Hash the unpacked bytes, and pass the bytes to `take` in pieces.

    Raises PackedError if the bytes do not match `wanted`.
    """
    size, sha256 = 0, hashlib.sha256()
    for piece in _pieces(packed):
        size += len(piece)
        if size > wanted.bytes:  # a damaged file may claim to unpack to any length
            break
        sha256.update(piece)
        take(piece)
    if (size, sha256.hexdigest()) != (wanted.bytes, wanted.sha256):
        raise PackedError("was altered")


def own_copy(packed: Path, wanted: Output) -> Path:
    """Return the path of the unpacked output, which is unpacked once and stays until this process ends.

    Raises PackedError if the file does not match `wanted`, and MachineError if the disk is full.
    """
    key = hashlib.sha256(repr(wanted).encode()).hexdigest()  # a damaged record's text may not be a valid folder name
    with room():
        home = _home(os.getpid())
        found = home / key / packed.name.removesuffix(SUFFIX)
        if not found.exists():
            fresh = home / secrets.token_hex(8)  # another thread may unpack it, too
            try:
                unpack(packed, fresh, wanted)
                found.parent.mkdir(exist_ok=True)
                fresh.replace(found)
            finally:
                fresh.unlink(missing_ok=True)
        return found


@contextmanager
def room() -> Iterator[None]:
    """Convert the error of a full folder for temporary files to a MachineError that names the fix."""
    try:
        yield
    except OSError as error:
        where, reason = f"{error.filename}: " if error.filename else "", error.strerror or error
        raise MachineError(
            f"no room to unpack a packed output in the temporary folder: {where}{reason} "
            "(TMPDIR names another folder; `lab store unpack` unpacks a store)"
        ) from error


def scratch() -> AbstractContextManager[Path]:
    """Create a folder for unpacked files, which is removed afterwards or by the next `sweep`. Raises OSError."""
    return owner.private(Path(tempfile.gettempdir()), _what())


def sweep() -> tuple[Path, ...]:
    """Remove the unpacked files of this user's dead processes, and return their former paths."""
    return owner.sweep(Path(tempfile.gettempdir()), _what())


def _what() -> str:
    return f"replab-unpacked-{os.getuid()}"


@cache
def _home(process: int) -> Path:
    """Return this process's folder, which is removed when the process ends."""
    sweep()
    folder = owner.own(Path(tempfile.gettempdir()), _what())
    atexit.register(_leave, folder, process)
    return folder


def _leave(folder: Path, process: int) -> None:
    """Remove the folder, unless this process is a fork of the folder's owner."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _pieces(packed: Path) -> Iterator[bytes]:
    try:
        with (
            packed.open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as stream,
        ):
            while piece := stream.read(_BLOCK):
                yield piece
    except (OSError, zstandard.ZstdError) as error:
        raise PackedError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
