"""Open a capture as one block of memory: as it is, or unpacked from gzip or Zstandard."""

from __future__ import annotations

import hashlib
import mmap
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

import zstandard

from lab.base import foreign
from lab.errors import InputError, MachineError

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PIECE = 1 << 20
_SPARE = 1 << 30  # bytes of the disk that unpacking leaves free: a small file can unpack to any size


@dataclass(frozen=True)
class OpenedCapture:
    """Holds the bytes of a capture. `remark` tells why the packed file could not be unpacked to its end, or is ""."""

    data: mmap.mmap
    remark: str


@contextmanager
def opened(path: Path) -> Iterator[OpenedCapture]:
    """Provide the bytes of a capture file.

    Packed files are unpacked into a temporary file, which has no name and disappears with the process. Raises
    InputError if the file cannot be read or is empty, and MachineError if the disk is too small for the unpacked file.
    """
    try:
        with foreign.opened(path.resolve()) as file:
            start = file.read(4)
            file.seek(0)
            if start.startswith((_GZIP, _ZSTD)):
                with tempfile.TemporaryFile() as unpacked:
                    remark = _unpack(file, start, unpacked)
                    yield OpenedCapture(_mapped(unpacked, path), remark)
            else:
                yield OpenedCapture(_mapped(file, path), "")
    except foreign.Unfit as error:
        raise InputError(f"{path}: {error}; name a capture file") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def digest(path: Path) -> str:
    """Return the SHA-256 of a capture's bytes, unpacked. Raises the errors of `opened`."""
    with opened(path) as capture:
        return hashlib.sha256(capture.data).hexdigest()


def _mapped(file: IO[bytes], path: Path) -> mmap.mmap:
    try:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:  # an empty file cannot be mapped
        raise InputError(f"{path}: empty, or nothing of it can be unpacked; name a capture file") from None


def _unpack(file: BinaryIO, start: bytes, into: IO[bytes]) -> str:
    """Write the unpacked bytes, and return why they end early, or ""."""
    room, size = shutil.disk_usage(tempfile.gettempdir()).free - _SPARE, 0
    try:
        for piece in _gunzipped(file) if start.startswith(_GZIP) else _zstd(file):
            size += len(piece)
            if size > room:
                raise MachineError(
                    f"the unpacked capture has more than {room:,} bytes, too many for the temporary disk"
                )
            into.write(piece)
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        return f"the packed file is damaged: {size:,} bytes could be unpacked ({error})"
    finally:
        into.flush()
    return ""


def _gunzipped(file: BinaryIO) -> Iterator[bytes]:
    """Yield the unpacked bytes, up to the place of the damage. `gzip.GzipFile` would drop the last of them."""
    unpacking = zlib.decompressobj(wbits=31)
    while piece := file.read(_PIECE):
        while piece:
            yield unpacking.decompress(piece, _PIECE)
            piece = unpacking.unconsumed_tail
            if unpacking.eof:
                piece = unpacking.unused_data.lstrip(b"\0")  # another member, or padding
                if piece:
                    unpacking = zlib.decompressobj(wbits=31)
    if not unpacking.eof:
        raise EOFError("it ends early")


def _zstd(file: BinaryIO) -> Iterator[bytes]:
    source = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    while piece := source.read(_PIECE):
        yield piece
