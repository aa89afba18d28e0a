"""Keep userlands that were made, each in a folder of its own that is named by its bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lab import cache
from lab.errors import LabError, MachineError
from lab.userland.lock import Name, locked
from lab.userland.manifest import differences, manifest

__all__ = ["Userland", "UserlandAltered", "UserlandMissing", "adopt", "find", "folder", "load"]

TREE, MANIFEST = "root", "manifest"  # in a userland's folder


class UserlandMissing(MachineError):
    """No such userland is kept here."""


class UserlandAltered(LabError):
    """What is called a userland has other bytes than its name says."""


@dataclass(frozen=True, slots=True)
class Userland:
    """Name a userland that is here, whole."""

    id: str  # of its bytes
    tree: Path  # the folder that is a guest's root

    def has(self, program: str) -> bool:
        """Return whether a guest finds this program."""
        return any((self.tree / place / program).exists() for place in ("usr/sbin", "usr/bin"))

    def altered(self) -> list[str]:
        """Return the paths that are not as they were made: [] for a whole userland. Reads every byte."""
        return differences((self.tree.parent / MANIFEST).read_text(encoding="utf-8"), manifest(self.tree))


def folder() -> Path:
    """Return where userlands are kept."""
    return cache.folder("userlands")


def load(ident: str) -> Userland | None:
    """Return the userland with this id, or None when it is not here."""
    place = folder() / ident
    return Userland(ident, (place / TREE).absolute()) if (place / MANIFEST).is_file() else None


def find(name: Name) -> Userland:
    """Return the userland that the lock file of this name describes. Raises UserlandMissing, which names the cure."""
    ident = locked(name).id
    found = load(ident)
    if found is None:
        raise UserlandMissing(f"the userland {name}, {ident}, is not here: run `lab userland build {name}`")
    return found


def adopt(fresh: Path, ident: str, hashes: Mapping[str, str] | None = None) -> None:
    """Move a userland's folder, which was made elsewhere, into the cache, unless the userland is here.

    The folder must be in the cache's file system. `hashes` has the SHA-256 of files in it that were just written, by
    path: these are not read again. Raises UserlandAltered unless every byte is as the id says.
    """
    try:
        said = (fresh / MANIFEST).read_bytes()
    except OSError:
        raise UserlandAltered(f"it has no {MANIFEST}") from None
    prefix = f"{TREE}/"
    below = {path[len(prefix) :]: sha256 for path, sha256 in (hashes or {}).items() if path.startswith(prefix)}
    different = differences(said.decode("utf-8", "replace"), manifest(fresh / TREE, below))
    if different:
        raise UserlandAltered(f"{different[0]} differs")
    if hashlib.sha256(said).hexdigest()[: len(ident)] != ident:
        raise UserlandAltered("it is another one")
    folder().mkdir(parents=True, exist_ok=True)
    try:
        fresh.rename(folder() / ident)
    except OSError:
        if load(ident) is None:
            raise
