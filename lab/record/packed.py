"""Pack an output into `NAME.zst`, which lies in the place of `NAME`, and unpack it for who reads it.

A record's hashes and sizes are those of the bytes that the trial left, whichever form lies there. `Record.path` gives
a packed output as a file of these bytes, which this process has in the folder for temporary files while it runs.
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

from lab import owner
from lab.errors import MachineError

__all__ = ["SUFFIX", "Output", "PackedError", "form", "own_copy", "pack", "room", "scratch", "sweep", "unpack"]

SUFFIX = ".zst"
_LEVEL = 3  # 6 takes three times as long, for a tenth less
_BLOCK = 1 << 20


class PackedError(Exception):
    """Raised when a packed output is not what the trial left; the message goes on from its name."""


class Output(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes one file that the trial left in out/."""

    sha256: str
    bytes: int


def form(plain: Path) -> Path:
    """Return where the output that lies at `plain` lies once it is packed."""
    return plain.with_name(f"{plain.name}{SUFFIX}")


def pack(plain: Path, packed: Path) -> None:
    """Write the packed form of a file. Raises OSError."""
    compressor = zstandard.ZstdCompressor(_LEVEL, write_checksum=True, threads=len(os.sched_getaffinity(0)))
    with plain.open("rb") as source, packed.open("xb") as target:
        compressor.copy_stream(source, target, read_size=_BLOCK)


def unpack(packed: Path, plain: Path, wanted: Output) -> None:
    """Write what is packed, a new file. Raises PackedError unless it is what is `wanted`, and OSError."""
    with plain.open("xb") as target:
        check(packed, wanted, target.write)


def check(packed: Path, wanted: Output, take: Callable[[bytes], object] = len) -> None:
    """Hash what is packed, and let `take` have it piece by piece. Raises PackedError unless it is what is `wanted`."""
    size, sha256 = 0, hashlib.sha256()
    for piece in _pieces(packed):
        size += len(piece)
        if size > wanted.bytes:  # damage may say of a few bytes that they are many
            break
        sha256.update(piece)
        take(piece)
    if (size, sha256.hexdigest()) != (wanted.bytes, wanted.sha256):
        raise PackedError("was altered")


def own_copy(packed: Path, wanted: Output) -> Path:
    """Return what is packed as a file, unpacked once and kept until this process ends.

    Raises PackedError when it is not what is `wanted`, MachineError when there is no room for it.
    """
    key = hashlib.sha256(repr(wanted).encode()).hexdigest()  # what a damaged record says may be no name for a folder
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
    """Turn what the folder for temporary files lacks into a MachineError that says what to do."""
    try:
        yield
    except OSError as error:
        where, reason = f"{error.filename}: " if error.filename else "", error.strerror or error
        raise MachineError(
            f"a packed output cannot be unpacked among temporary files: {where}{reason} "
            "(TMPDIR names another folder; `lab store unpack` unpacks a store)"
        ) from error


def scratch() -> AbstractContextManager[Path]:
    """Make a folder for what is unpacked; it is gone afterwards, or with the next `sweep`. Raises OSError."""
    return owner.private(Path(tempfile.gettempdir()), _what())


def sweep() -> tuple[Path, ...]:
    """Remove what dead processes of this user unpacked, and return where it was."""
    return owner.sweep(Path(tempfile.gettempdir()), _what())


def _what() -> str:
    return f"replab-unpacked-{os.getuid()}"


@cache
def _home(process: int) -> Path:
    """Return this process's folder, which goes when it ends."""
    sweep()
    folder = owner.own(Path(tempfile.gettempdir()), _what())
    atexit.register(_leave, folder, process)
    return folder


def _leave(folder: Path, process: int) -> None:
    """Remove the folder, unless we are a fork of the process whose it is."""
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
