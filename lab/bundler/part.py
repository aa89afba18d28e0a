"""Name what goes into a bundle: folders and files, each with a sentence about it."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "EXPERIMENTS",
    "KERNELS",
    "NOTEBOOKS",
    "REPORT",
    "RESULTS",
    "TOPOLOGIES",
    "USERLANDS",
    "Part",
    "userland_depth",
]

# Folders of a bundle: what trials start from, what was claimed, and what came of it.
KERNELS, USERLANDS = "kernels", "userlands"
EXPERIMENTS, TOPOLOGIES, NOTEBOOKS = "experiments", "topologies", "notebooks"
RESULTS, REPORT = "results", "report"


@dataclass(frozen=True, slots=True)
class Part:
    """Describe one part: a folder with all that is in it, or one file."""

    path: str  # in the bundle
    source: Path
    about: str
    sealed: bool = False  # links, permissions and dates are part of what it is
    only: frozenset[str] | None = None  # of a folder, the files that are meant; None: all that is in it

    def contents(self) -> Iterator[tuple[str, Path]]:
        """Yield (path in the bundle, path here) of all that is in it, folders before what they hold, by name."""
        yield self.path, self.source
        if self.source.is_dir():
            for top, folders, files in os.walk(self.source):
                folders.sort()
                inside = Path(top).relative_to(self.source)
                found = {*folders, *files}
                for name in sorted(found if self.only is None else found & self.only):
                    yield f"{self.path}/{(inside / name).as_posix()}", Path(top, name)

    def digests(self) -> dict[str, str]:
        """Return path in the bundle -> SHA-256 of each of its files."""
        found = {}
        for path, source in self.contents():
            if stat.S_ISREG(source.lstat().st_mode):
                with source.open("rb") as file:
                    found[path] = hashlib.file_digest(file, "sha256").hexdigest()
        return found


def userland_depth(path: str) -> int | None:
    """Say how many parts of a path in the bundle name its userland, where links, permissions and dates count."""
    return 2 if path.startswith(f"{USERLANDS}/") else None
