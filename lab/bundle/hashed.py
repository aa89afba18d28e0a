"""Read a file and keep the SHA-256 of what was read."""

from __future__ import annotations

import hashlib
from typing import IO

__all__ = ["Hashed"]


class Hashed:
    """Passes on what is read from `file`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes."""
        data = self._file.read(size)
        self.digest.update(data)
        return data
