"""List the parts of a bundle: folders and files, each with a description."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.base.cache import hash_of

# Folders of a bundle: the parts that trials start from, the claims, and the results.
KERNELS, USERLANDS = "kernels", "userlands"
EXPERIMENTS, TOPOLOGIES, NOTEBOOKS = "experiments", "topologies", "notebooks"
RESULTS, REPORT = "results", "report"


@dataclass(frozen=True, slots=True)
class Part:
    """Describes one part: a folder with all its contents, or one file."""

    path: str  # in the bundle
    source: Path
    about: str
    sealed: bool = False  # whether links, permissions and dates belong to it
    only: frozenset[str] | None = None  # the files of the folder that belong to it; None: all of them

    def contents(self) -> Iterator[tuple[str, Path]]:
        """Yield (path in the bundle, local path) for each entry of the part, by name, folders before their contents."""
        yield self.path, self.source
        if self.source.is_dir():
            for top, folders, files in os.walk(self.source):
                folders.sort()
                inside = Path(top).relative_to(self.source)
                found = {*folders, *files}
                for name in sorted(found if self.only is None else found & self.only):
                    yield f"{self.path}/{(inside / name).as_posix()}", Path(top, name)

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of each file in the part, by the file's path in the bundle."""
        found = {}
        for path, source in self.contents():
            if stat.S_ISREG(source.lstat().st_mode):
                found[path] = hash_of(source)
        return found


def userland_depth(path: str) -> int | None:
    """Return the number of leading parts of a path that name its userland; None outside userlands."""
    return 2 if path.startswith(f"{USERLANDS}/") else None
