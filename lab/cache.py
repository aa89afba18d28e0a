"""Say where this user's machine keeps what can be made again: kernels, downloads, hashes of code."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["folder"]


def folder(name: str) -> Path:
    """Return $XDG_CACHE_HOME/replab/NAME, by default below ~/.cache. It need not exist."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "replab" / name
