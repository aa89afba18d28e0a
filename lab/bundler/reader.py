"""Read a bundle's file: every byte is checked, and nothing is written outside of the folder that is asked for."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import zstandard

from lab.archive import ArchiveError, Unpacked
from lab.bundler import manifest
from lab.bundler.errors import BundleError
from lab.bundler.frames import Forward, Sealed, reading
from lab.bundler.manifest import Manifest
from lab.bundler.part import userland_depth
from lab.errors import InputError, MachineError

__all__ = ["identify", "unpack"]

LISTED = 1 << 26  # bytes: a manifest is read at once, so it may not be longer
PIECE = 1 << 20


def identify(file: Path) -> Manifest:
    """Return what a bundle says it consists of. Nothing else is read. Raises InputError, BundleError."""
    with _opened(file) as reader:
        return reader.manifest()


def unpack(file: Path, into: Path, wanted: Callable[[str], bool]) -> Manifest:
    """Check the whole bundle and unpack the paths that are `wanted` into the new folder `into`; return its manifest.

    What is there counts only when this returns. Raises BundleError, which names the part that is damaged, is not listed
    or would lie elsewhere; InputError for a file that cannot be read; MachineError when there is no room.
    """
    with _opened(file) as reader:
        contents = reader.manifest()
        into.mkdir()
        unpacked = Unpacked(into, userland_depth)
        for member in reader.members():
            if member.type != tarfile.REGTYPE or member.sparse is not None:
                if wanted(member.name):
                    unpacked.add(member)
                continue
            expected = reader.missing.pop(member.name, None)
            if expected is None:
                raise BundleError(f"{member.name} is not in the manifest, or twice in the archive")
            pieces = reader.contents(member)
            digest = unpacked.write(member, pieces) if wanted(member.name) else _digest(pieces)
            if digest != expected:
                raise BundleError(f"{member.name} does not have the SHA-256 that the manifest lists")
        reader.end()
        if reader.missing:
            raise BundleError(f"{min(reader.missing)} is missing, which the manifest lists")
        unpacked.settle()
    return contents


@contextmanager
def _opened(file: Path) -> Iterator[_Reader]:
    """Yield a reader, and say of every error which bundle it is about."""
    reader: _Reader | None = None
    try:
        with file.open("rb") as source:
            sealed = Sealed(source)
            with reading(sealed) as stream:
                reader = _Reader(sealed, Forward(stream))
                yield reader
    except (ArchiveError, BundleError) as error:
        raise BundleError(f"{file}: {error}") from None
    except (zstandard.ZstdError, tarfile.TarError, EOFError) as error:
        where = f"damaged in {reader.where()}" if reader else "no bundle"
        raise BundleError(f"{file}: {where}: {error}") from None
    except OSError as error:
        if reader is None:
            raise InputError(f"{file}: {error.strerror}") from None
        raise MachineError(f"{file} cannot be unpacked: {error.strerror or error}") from None


class _Reader:
    """Reads the archive from its beginning to its end; `missing` are the files that it has not come to."""

    def __init__(self, sealed: Sealed, source: Forward) -> None:
        self.missing: dict[str, str] = {}
        self._at = manifest.FILE
        self._sealed = sealed
        self._source = source
        self._tar = tarfile.TarFile(fileobj=source, mode="r")  # type: ignore[arg-type] # it reads, tells and seeks

    def manifest(self) -> Manifest:
        """Return the manifest, which is the first file. Raises BundleError when it is not."""
        first = next(self.members(), None)
        if first is None or first.name != manifest.FILE or first.type != tarfile.REGTYPE or first.size > LISTED:
            raise BundleError(f"no bundle: it does not begin with {manifest.FILE}")
        contents = manifest.parse(b"".join(self.contents(first)).decode("utf-8", "replace"))
        self.missing = dict(contents.files)
        return contents

    def members(self) -> Iterator[tarfile.TarInfo]:
        """Yield each file, folder and link in turn. Raises BundleError for a path that leads elsewhere."""
        while (member := self._tar.next()) is not None:
            self._tar.members.clear()  # type: ignore[attr-defined] # it would keep all that it ever read
            if not manifest.is_path(member.name):
                raise BundleError(f"{member.name!r} is no path in a bundle")
            self._at = member.name
            yield member
            self._at = ""

    def contents(self, member: tarfile.TarInfo) -> Iterator[bytes]:
        """Yield the bytes of the file that has just been come to."""
        left = member.size
        while left:
            piece = self._source.read(min(PIECE, left))
            if not piece:
                raise EOFError("the file ends there")
            left -= len(piece)
            yield piece

    def where(self) -> str:
        """Name the file that is being read; between two files, the one that should come next."""
        return self._at or min(self.missing, default="its end")

    def end(self) -> None:
        """Read what is behind the last member. Raises BundleError unless all bytes were those that were sealed."""
        while self._source.read(PIECE):
            pass
        if not self._sealed.is_whole():
            raise BundleError("damaged: its last 64 bytes are not the SHA-256 of those before")


def _digest(pieces: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
