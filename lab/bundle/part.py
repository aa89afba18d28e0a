"""Name what goes into a bundle: folders and files, each with a sentence about it."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["KERNELS", "REPORT", "RESULTS", "USERLANDS", "Part"]

KERNELS, USERLANDS, RESULTS, REPORT = "kernels", "userlands", "results", "report"  # folders of a bundle


@dataclass(frozen=True, slots=True)
class Part:
    """Describe one part: a folder with all that is in it, or one file."""

    path: str  # in the bundle
    source: Path
    about: str
    sealed: bool = False  # links, permissions and dates are part of what it is

    def contents(self) -> Iterator[tuple[str, Path]]:
        """Yield (path in the bundle, path here) of all that is in it, folders before what they hold, by name."""
        yield self.path, self.source
        if self.source.is_dir():
            for top, folders, files in os.walk(self.source):
                folders.sort()
                inside = Path(top).relative_to(self.source)
                for name in sorted([*folders, *files]):
                    yield f"{self.path}/{(inside / name).as_posix()}", Path(top, name)

    def digests(self) -> dict[str, str]:
        """Return path in the bundle -> SHA-256 of each of its files."""
        found = {}
        for path, source in self.contents():
            if stat.S_ISREG(source.lstat().st_mode):
                with source.open("rb") as file:
                    found[path] = hashlib.file_digest(file, "sha256").hexdigest()
        return found
