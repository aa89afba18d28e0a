"""Read a file, and compute the SHA-256 of its bytes."""

from __future__ import annotations

import hashlib
from typing import IO


class Hashed:
    """Passes on the bytes of `file`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes."""
        data = self._file.read(size)
        self.digest.update(data)
        return data
