"""Write and read the frames of a bundle's file, and its seal.

There is a frame of Zstandard for each part, and at the end one that Zstandard skips. So the file is what `tar --zstd`
unpacks, damage is found in the part where it is, and what is skipped can be the program that `python3 FILE` runs: a zip
file, which Python finds from the end. The comment of that zip file, the last 64 bytes, is the SHA-256 of all others.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import zstandard

from lab.bundle.errors import BundleError

__all__ = ["SEAL_BYTES", "Forward", "Frames", "Sealed", "reading", "writing"]

LEVEL = 10  # of Zstandard
WINDOW = 1 << 27  # bytes: more memory than this no bundle may ask for
SKIPPABLE = (0x184D2A50).to_bytes(4, "little")  # RFC 8878, 3.1.2
SEAL_BYTES = 64
PIECE = 1 << 20
MOST = 1 << 24  # bytes at once: a header that wants more is a trap


class Frames:
    """Compresses what tarfile writes to it."""

    def __init__(self, stream: zstandard.ZstdCompressionWriter) -> None:
        self._stream = stream
        self._written = 0

    def write(self, data: bytes) -> int:
        """Compress more of this part."""
        self._stream.write(data)
        self._written += len(data)
        return len(data)

    def tell(self) -> int:
        """Return how long the archive is, before it is compressed."""
        return self._written

    def end(self) -> None:
        """End the frame: the next byte begins another."""
        self._stream.flush(zstandard.FLUSH_FRAME)


@contextmanager
def writing(file: BinaryIO, program: BinaryIO) -> Iterator[Frames]:
    """Yield what writes frames to `file`; the `program`, whose zip comment is to be the seal, and the seal follow.

    With the same library the same bytes come out, on any number of CPUs.
    """
    sealing = _Sealing(file)
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True, threads=len(os.sched_getaffinity(0)))
    frames = Frames(compressor.stream_writer(sealing, closefd=False))  # type: ignore[arg-type] # it only writes
    yield frames
    frames.end()
    size = os.fstat(program.fileno()).st_size
    sealing.write(SKIPPABLE + size.to_bytes(4, "little"))
    left = size - SEAL_BYTES
    while piece := program.read(min(PIECE, left)):
        sealing.write(piece)
        left -= len(piece)
    file.write(sealing.digest.hexdigest().encode())


class _Sealing:
    """Passes on what is written, and keeps the SHA-256 of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)


class Sealed:
    """Passes on what is read from a bundle's file, and tells at the end whether it was the sealed bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = os.fstat(file.fileno()).st_size - SEAL_BYTES
        self._digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes of what is sealed."""
        data = self._file.read(self._left if size < 0 else min(size, max(0, self._left)))
        self._left -= len(data)
        self._digest.update(data)
        return data

    def is_whole(self) -> bool:
        """Read what is left, and say whether all of it is what was sealed."""
        while self.read(PIECE):
            pass
        return self._file.read() == self._digest.hexdigest().encode()


class Forward:
    """Reads the archive that is in the frames, for tarfile: it goes forward only, and never further than asked."""

    def __init__(self, stream: zstandard.ZstdDecompressionReader) -> None:
        self._stream = stream
        self._position = 0

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes; fewer at the end. Raises BundleError when it is asked for too many at once."""
        if size > MOST:
            raise BundleError(f"no bundle: a header of {size} bytes")
        data = b""
        while len(data) < size and (piece := self._stream.read(size - len(data))):
            data += piece
        self._position += len(data)
        return data

    def tell(self) -> int:
        """Return how many bytes were read."""
        return self._position

    def seek(self, position: int) -> int:
        """Skip the bytes up to `position`."""
        while self._position < position and self.read(min(PIECE, position - self._position)):
            pass
        return self._position


@contextmanager
def reading(file: Sealed) -> Iterator[zstandard.ZstdDecompressionReader]:
    """Yield what reads all frames as one. Reading raises zstandard.ZstdError where they are damaged."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW)
    yield decompressor.stream_reader(file, read_across_frames=True, closefd=False)  # type: ignore[arg-type] # it only reads
