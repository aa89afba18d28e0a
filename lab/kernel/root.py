"""Say which files a guest sees as its own, and where among them are its first program, Python and the lab's code."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PACKAGE", "Root", "of_host"]

PACKAGE = Path(__file__).parents[2]  # the folder to import `lab` from


@dataclass(frozen=True, slots=True)
class Root:
    """Name a folder of the host that a guest sees as /, read-only. All but `tree` and `code` are paths in the guest."""

    tree: Path
    init: str  # its first program
    python: str
    search: str  # the folder to import `lab` from
    code: Path | None = None  # the folder of the host that is mounted there; None: it is part of the tree


def of_host() -> Root:
    """Return the host's own files: what runs in the guest is what is installed here."""
    # The host's own /proc, seen through the root file system, leads to the folder that the kernel started in.
    return Root(Path("/"), "/proc/self/cwd/boot/init", sys.executable, str(PACKAGE))
