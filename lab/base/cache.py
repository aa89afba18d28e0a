"""Find this machine's cache folder, which holds reproducible files: kernels, downloads, code hashes."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path


def folder(name: str) -> Path:
    """Return $XDG_CACHE_HOME/replab/NAME (default: below ~/.cache). The folder need not exist."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "replab" / name


def hash_of(file: Path) -> str:
    """Return a file's SHA-256. A process reads a file again only if the file has changed. Raises OSError."""
    about = file.stat()
    return _hashed(file, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


@cache
def _hashed(file: Path, *_: int) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
