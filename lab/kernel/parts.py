"""Send kernels to other machines: each a part that a trial needs, named by its id and checked by its hash."""

from __future__ import annotations

import hashlib
import io
import tempfile
from pathlib import Path
from typing import NamedTuple

from lab import archive
from lab.archive import ArchiveError
from lab.errors import MachineError
from lab.kernel.base import folder
from lab.owner import is_dead, owner, remove

__all__ = ["Part", "install", "lacks", "pack", "part"]

_DECIDING = ("kernel.json", "linux")  # of a kernel's folder; the others say how it was built
_INCOMING = ".incoming"


class Part(NamedTuple):
    """Names a kernel of the cache, and the bytes that it must consist of."""

    id: str
    sha256: str


def part(ident: str) -> Part:
    """Return the part that the kernel of this id, kept here, is. Raises MachineError when it cannot be read."""
    return Part(ident, _digest(folder() / ident))


def pack(wanted: Part) -> bytes:
    """Return the archive of a kernel that is kept here."""
    packed = io.BytesIO()
    archive.pack(folder() / wanted.id, packed)
    return packed.getvalue()


def lacks(wanted: Part) -> bool:
    """Tell whether this machine lacks the part. Raises MachineError when it has other bytes under that id."""
    place = folder() / wanted.id
    if not place.is_dir():
        return True
    if _digest(place) != wanted.sha256:
        raise MachineError(f"kernel {wanted.id} in {place} has other bytes than the one that was asked for")
    return False


def install(wanted: Part, packed: bytes) -> None:
    """Put a part into this machine's cache, whole or not at all. Raises MachineError."""
    incoming = folder() / _INCOMING
    try:
        incoming.mkdir(parents=True, exist_ok=True)
        for left in (path for path in incoming.iterdir() if is_dead(path.name)):
            remove(left)
        with tempfile.TemporaryDirectory(prefix=f"{wanted.id}~{owner()}~", dir=incoming) as scratch:
            fresh = Path(scratch) / wanted.id
            fresh.mkdir()
            archive.unpack(io.BytesIO(packed), fresh)
            if _digest(fresh) != wanted.sha256:
                raise MachineError(f"kernel {wanted.id} did not arrive as it was sent")
            try:
                fresh.rename(folder() / wanted.id)
            except OSError:
                if lacks(wanted):
                    raise
    except ArchiveError as error:
        raise MachineError(f"kernel {wanted.id} did not arrive as it was sent: {error}") from error
    except OSError as error:
        raise MachineError(f"kernel {wanted.id} cannot be kept in {folder()}: {error.strerror}") from error


def _digest(place: Path) -> str:
    sha256 = hashlib.sha256()
    try:
        for name in _DECIDING:
            sha256.update((place / name).read_bytes())
    except OSError as error:
        raise MachineError(f"{place} is no whole kernel: {error.filename}: {error.strerror}") from error
    return sha256.hexdigest()
