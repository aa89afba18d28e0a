"""Check whether all bytes of a bundle file match the seal. This module needs only the Python standard library."""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO

SEAL_BYTES = 64
PIECE = 1 << 20


class Sealed:
    """Passes on the bytes of a bundle file, and checks at the end whether they match the seal."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = os.fstat(file.fileno()).st_size
        self._left = self.size - SEAL_BYTES
        self._digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes of the sealed part."""
        data = self._file.read(self._left if size < 0 else min(size, max(0, self._left)))
        self._left -= len(data)
        self._digest.update(data)
        return data

    def is_whole(self) -> bool:
        """Read the rest, and return whether all bytes match the seal."""
        while self.read(PIECE):
            pass
        return self._file.read() == self._digest.hexdigest().encode()
