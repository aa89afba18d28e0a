"""Wait until something has happened."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["PATIENCE", "has", "until"]

PATIENCE = 400.0  # seconds: on a busy machine nothing is quick


def until(happened: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until something has happened, and fail when it does not."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def has(folder: Path, name: str) -> bool:
    """Tell whether a file or folder of that name is somewhere in `folder`, from which others may take things away."""
    return any(name in (*folders, *files) for _, folders, files in os.walk(folder))
