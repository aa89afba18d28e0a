"""Give workers what trials start from: kernels and userlands, each named by its id and checked by its hash.

A userland is named by its bytes, so it goes to the cache that all runs share. A kernel is named by its recipe, which
its bytes do not prove: one that was sent is kept by its hash, and only trials that ask for these bytes run on it.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lab import archive
from lab import cache as caches
from lab.archive import ArchiveError
from lab.errors import MachineError
from lab.kernel import UmlKernel
from lab.kernel.base import folder
from lab.owner import private, sweep
from lab.userland import cache as userlands
from lab.userland.cache import MANIFEST, Userland, UserlandAltered

__all__ = ["KERNEL", "USERLAND", "Part", "keep", "kept", "of_kernel", "of_userland", "pack", "tidy"]

KERNEL, USERLAND = "kernel", "userland"
_DECIDING = ("kernel.json", "linux")  # of a kernel's folder; the others say how it was built
_LIKELY = 16  # digits of a kernel's hash that name its folder


class Part(NamedTuple):
    """Names a kernel or a userland, and the bytes that it must consist of."""

    kind: str
    id: str
    sha256: str  # of a kernel's files that decide; of a userland's manifest

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


def of_kernel(kernel: UmlKernel) -> Part:
    """Return the part that a kernel of this machine is. Raises MachineError when it cannot be read."""
    return Part(KERNEL, kernel.id, _digest(kernel.path.parent))


def of_userland(userland: Userland) -> Part:
    """Return the part that a userland of this machine is. Raises MachineError when it cannot be read."""
    return Part(USERLAND, userland.id, _hash_of(userland.tree.parent / MANIFEST))


def pack(part: Part, place: Path) -> bytes:
    """Return the archive of a part whose folder is `place`. Raises MachineError when it cannot be read."""
    packed = io.BytesIO()
    try:
        archive.pack(place, packed, sealed=part.kind == USERLAND, quick=True)
    except OSError as error:
        raise MachineError(f"{part} cannot be sent: {error.filename}: {error.strerror}") from error
    return packed.getvalue()


def kept(part: Part) -> Path | None:
    """Return the folder in which this machine has the part, whole, or None without one.

    Raises MachineError when what has its name here has other bytes.
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
        raise MachineError(f"{part} in {place} has other bytes than the one that was asked for: remove it")
    return place if is_whole else None


def keep(part: Part, pieces: Iterable[bytes]) -> None:
    """Put a part, of whose archive these are the pieces, into this machine's cache, whole or not at all.

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
                _put(fresh, _sent() / part.sha256[:_LIKELY])
            else:
                raise ArchiveError("its bytes are others")
    except (ArchiveError, UserlandAltered) as error:
        raise MachineError(f"{part} did not arrive as it was sent: {error}") from error
    except OSError as error:
        raise MachineError(f"{part} cannot be kept in {_sent().parent}: {error.strerror}") from error


def tidy() -> None:
    """Remove what workers left that were killed while a part arrived."""
    sweep(_sent())


def _sent() -> Path:
    return caches.folder("sent")


def _put(fresh: Path, place: Path) -> None:
    """Move a whole folder to its place, unless another worker has just done so."""
    try:
        fresh.rename(place)
    except OSError:
        if not place.is_dir():
            raise


def _digest(kernel: Path) -> str:
    sha256 = hashlib.sha256()
    for name in _DECIDING:
        sha256.update(bytes.fromhex(_hash_of(kernel / name)))
    return sha256.hexdigest()


def _hash_of(file: Path) -> str:
    """Return a file's SHA-256. One that has not changed since is not read again: a worker asks for each trial."""
    try:
        about = file.stat()
        return _hashed(file, about.st_ino, about.st_size, about.st_mtime_ns)
    except OSError as error:
        raise MachineError(f"{file} cannot be read: {error.strerror}") from error


@cache
def _hashed(file: Path, *_: int) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
