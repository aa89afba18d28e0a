"""Store userlands, each in a folder that is named after the hash of its contents."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.base import cache
from lab.errors import LabError, MachineError
from lab.machine.userland.lock import Name, locked
from lab.machine.userland.manifest import differences, manifest

TREE, MANIFEST = "root", "manifest"  # in a userland's folder


class UserlandMissing(MachineError):
    """Raised if the requested userland is not in the cache."""


class UserlandAltered(LabError):
    """Raised if a userland's bytes do not match the hash in its name."""


@dataclass(frozen=True, slots=True)
class Userland:
    """Identifies a complete userland in the cache."""

    id: str  # covers its bytes
    tree: Path  # a guest's root folder

    def has(self, program: str) -> bool:
        """Return whether a guest with this userland finds the program."""
        return any((self.tree / place / program).exists() for place in ("usr/sbin", "usr/bin"))

    def altered(self) -> list[str]:
        """Return the paths that have changed since the userland was built, or [] if it is intact. Reads every byte."""
        made = (self.tree.parent / MANIFEST).read_bytes()
        if not hashlib.sha256(made).hexdigest().startswith(self.id):
            return [MANIFEST]
        return differences(made.decode(), manifest(self.tree))


def folder() -> Path:
    """Return the folder that holds userlands."""
    return cache.folder("userlands")


def load(ident: str) -> Userland | None:
    """Return the userland with this id, or None if it is not in the cache."""
    place = folder() / ident
    return Userland(ident, (place / TREE).absolute()) if (place / MANIFEST).is_file() else None


def find(name: Name) -> Userland:
    """Return the userland that the lock file of this name describes. Raises UserlandMissing with the fix."""
    ident = locked(name).id
    found = load(ident)
    if found is None:
        raise UserlandMissing(f"the userland {name}, {ident}, is not here; run `lab userland build {name}`")
    return found


def adopt(fresh: Path, ident: str, hashes: Mapping[str, str] | None = None) -> None:
    """Move a userland folder that was built elsewhere into the cache, unless the cache already has the userland.

    The folder must be in the cache's file system. `hashes` holds the SHA-256, by path, of files that were just written,
    so that these files are not read again. Raises UserlandAltered unless every byte matches the id.
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
        raise UserlandAltered("its id differs")
    folder().mkdir(parents=True, exist_ok=True)
    try:
        fresh.rename(folder() / ident)
    except OSError:
        if load(ident) is None:
            raise
