"""Give workers the kernels and userlands that trials start from, each with its id and a hash check.

A userland's name is the hash of its bytes, so the userland goes to the cache that all runs share. A kernel's name
follows from its recipe, and the bytes cannot prove that they were built from this recipe. So a received kernel is
stored under its hash, and only trials that request these bytes run on this kernel.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from lab.base import archive, moving
from lab.base import cache as caches
from lab.base.archive import ArchiveError
from lab.base.owner import private, sweep
from lab.errors import MachineError
from lab.machine.kernel import UmlKernel
from lab.machine.kernel.base import folder
from lab.machine.userland import cache as userlands
from lab.machine.userland.cache import MANIFEST, Userland, UserlandAltered

KERNEL, USERLAND = "kernel", "userland"
_DECIDING = ("kernel.json", "linux")  # of a kernel's folder; the other files tell how it was built
_LIKELY = 16  # digits of a kernel's hash that name its folder


class Part(NamedTuple):
    """Identifies a kernel or a userland and its required bytes."""

    kind: str
    id: str
    sha256: str  # of a kernel's deciding files, or of a userland's manifest

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


def of_kernel(kernel: UmlKernel) -> Part:
    """Return the part for a kernel on this machine. Raises MachineError if the kernel cannot be read."""
    return Part(KERNEL, kernel.id, _digest(kernel.path.parent))


def of_userland(userland: Userland) -> Part:
    """Return the part for a userland on this machine. Raises MachineError if the userland cannot be read."""
    return Part(USERLAND, userland.id, _hash_of(userland.tree.parent / MANIFEST))


def pack(part: Part, place: Path) -> bytes:
    """Return the archive of the part in the folder `place`. Raises MachineError if the part cannot be read."""
    packed = io.BytesIO()
    try:
        archive.pack(place, packed, sealed=part.kind == USERLAND, quick=True)
    except OSError as error:
        raise MachineError(f"{part} cannot be sent: {error.filename}: {error.strerror}") from error
    return packed.getvalue()


def kept(part: Part) -> Path | None:
    """Return the folder in which this machine has the complete part, or None if the part is missing.

    Raises MachineError if the part with this name on this machine has different bytes.
    """
    if part.kind == KERNEL:
        own, place = folder() / part.id, _sent() / part.sha256[:_LIKELY]
        if own.is_dir() and _digest(own) == part.sha256:
            return own
        is_whole = place.is_dir() and _digest(place) == part.sha256
    else:
        found, place = userlands.load(part.id), userlands.folder() / part.id
        is_whole = found is not None and _hash_of(place / MANIFEST) == part.sha256 and not found.altered()
    if place.is_dir() and not is_whole:
        raise MachineError(f"{part} in {place} has different bytes from the requested one; remove it")
    return place if is_whole else None


def keep(part: Part, pieces: Iterable[bytes]) -> None:
    """Store a part atomically in this machine's cache, from the pieces of its archive.

    Raises MachineError.
    """
    try:
        with private(_sent(), part.id) as scratch:
            fresh = scratch / "whole"
            with (scratch / "archive").open("w+b") as packed:
                packed.writelines(pieces)
                packed.seek(0)
                hashes = archive.unpack(packed, fresh, sealed=part.kind == USERLAND)
            if part.kind == USERLAND:
                userlands.adopt(fresh, part.id, hashes)
            elif _digest(fresh) == part.sha256:
                moving.place(fresh, _sent() / part.sha256[:_LIKELY])
            else:
                raise ArchiveError("its bytes differ")
    except (ArchiveError, UserlandAltered) as error:
        raise MachineError(f"{part} did not arrive as it was sent: {error}") from error
    except OSError as error:
        raise MachineError(f"{part} cannot be kept in {_sent().parent}: {error.strerror}") from error


def tidy() -> None:
    """Remove the unfinished files of workers that were killed while a part arrived."""
    sweep(_sent())


def _sent() -> Path:
    return caches.folder("sent")


def _digest(kernel: Path) -> str:
    sha256 = hashlib.sha256()
    for name in _DECIDING:
        sha256.update(bytes.fromhex(_hash_of(kernel / name)))
    return sha256.hexdigest()


def _hash_of(file: Path) -> str:
    """Return a file's SHA-256, which is cached because workers need it for each trial. Raises MachineError."""
    try:
        return caches.hash_of(file)
    except OSError as error:
        raise MachineError(f"{file} cannot be read: {error.strerror}") from error
