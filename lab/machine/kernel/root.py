"""Describe the files that a guest sees, with the paths of its first program, its Python and the lab's code."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[3]  # the folder to import `lab` from


@dataclass(frozen=True, slots=True)
class Root:
    """Names a host folder that a guest sees as /, read-only.

    `init`, `python` and `search` are paths in the guest; the other paths are on the host.
    """

    tree: Path
    init: str  # its first program
    python: str
    search: str  # the folder to import `lab` from
    code: Path | None = None  # the folder that is mounted there; None: it is part of the tree
    shown: Path | None = None  # another folder that the guest may read, and mounts itself


def of_host() -> Root:
    """Return the root with the host's own files. The guest then runs the programs that are installed here."""
    # Through the root file system, the guest sees the host's /proc. Its link leads to the folder where the kernel
    # started.
    return Root(Path("/"), "/proc/self/cwd/boot/init", sys.executable, str(PACKAGE))
