"""Write and read the frames and the seal of a bundle file.

The file has a Zstandard frame for each part and, at the end, a frame that Zstandard skips. So `tar --zstd` can unpack
the file, and damage can be traced to a part. The skipped frame is the program that `python3 FILE` runs: a zip file,
which Python locates from the end of the file. The comment of that zip file, the last 64 bytes, is the SHA-256 of all
other bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import zstandard

from lab.base.archive import PIECE, WINDOW
from lab.ext.bundle.seal import SEAL_BYTES, Sealed

LEVEL = 10  # of Zstandard
SKIPPABLE = (0x184D2A50).to_bytes(4, "little")  # RFC 8878, 3.1.2


class Frames:
    """Compresses the data that tarfile writes to it."""

    def __init__(self, stream: zstandard.ZstdCompressionWriter) -> None:
        self._stream = stream
        self._written = 0

    def write(self, data: bytes) -> int:
        """Compress more bytes of this part."""
        self._stream.write(data)
        self._written += len(data)
        return len(data)

    def tell(self) -> int:
        """Return the length of the archive before compression."""
        return self._written

    def end(self) -> None:
        """End the frame. The next byte starts a new frame."""
        self._stream.flush(zstandard.FLUSH_FRAME)


@contextmanager
def writing(file: BinaryIO, program: BinaryIO) -> Iterator[Frames]:
    """Yield a writer of frames to `file`. The `program` and the seal, which is the comment of its zip file, follow.

    A given library version writes the same bytes on any number of CPUs.
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
    """Passes on the written bytes, and computes their SHA-256."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)


@contextmanager
def reading(file: Sealed) -> Iterator[zstandard.ZstdDecompressionReader]:
    """Yield a reader of all frames as one stream. Reading raises zstandard.ZstdError if a frame is damaged."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW)
    yield decompressor.stream_reader(file, read_across_frames=True, closefd=False)  # type: ignore[arg-type] # it only reads
