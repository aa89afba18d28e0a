"""Read a bundle file. Every byte is checked, and no file is written outside the given folder."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import zstandard

from lab.base.archive import PIECE, ArchiveError, Bounds, Members, Unpacked
from lab.errors import InputError, MachineError
from lab.ext.bundle import manifest
from lab.ext.bundle.errors import BundleError, NoBundle
from lab.ext.bundle.frames import reading
from lab.ext.bundle.manifest import Manifest
from lab.ext.bundle.part import userland_depth
from lab.ext.bundle.seal import Sealed
from lab.spec.errors import unreadable

LISTED = 1 << 26  # bytes: a manifest is read as a whole, so it may not be longer


def identify(file: Path) -> Manifest:
    """Return a bundle's manifest without reading other parts. Raises InputError and BundleError."""
    with _opened(file) as reader:
        return reader.manifest()


def check(file: Path) -> None:
    """Raise BundleError unless all bytes of the file match the seal, and InputError if the file cannot be read."""
    with _opened(file) as reader:
        reader.check()


def unpack(file: Path, into: Path, wanted: Callable[[str], bool]) -> Manifest:
    """Check the whole bundle, unpack the paths that are `wanted` into the new folder `into`, and return its manifest.

    If the function raises, ignore the written files. Raises BundleError with the part that is damaged, unlisted or out
    of place, InputError for a file that cannot be read, and MachineError if there is no room.
    """
    with _opened(file) as reader:
        contents = reader.manifest()
        into.mkdir()
        unpacked = Unpacked(into, userland_depth)
        for member in reader:
            if not member.isreg():
                if wanted(member.name):
                    unpacked.add(member)
                continue
            expected = reader.missing.pop(member.name, None)
            if expected is None:
                raise BundleError(f"{member.name} is not in the manifest, or twice in the archive")
            pieces = reader.contents()
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
    """Yield a reader, and add the bundle's name to every error."""
    reader: _Reader | None = None
    try:
        with file.open("rb") as source:
            sealed = Sealed(source)
            with reading(sealed) as stream:
                reader = _Reader(sealed, stream)
                yield reader
    except (ArchiveError, BundleError) as error:
        kind = NoBundle if isinstance(error, NoBundle) else BundleError
        raise kind(f"{file}: {error}") from None
    except (zstandard.ZstdError, tarfile.TarError, EOFError) as error:
        if reader is None:
            raise NoBundle(f"{file}: not a bundle ({error}); `lab bundle` makes one") from None
        raise BundleError(f"{file}: damaged in {reader.where()}: {error}") from None
    except OSError as error:
        if reader is None:
            raise InputError(f"{file}: {unreadable(file, error)}") from None
        raise MachineError(f"{file} cannot be unpacked: {error.strerror or error}") from None


class _Reader:
    """Reads the archive from start to end. `missing` lists the files that the reader has not reached yet."""

    def __init__(self, sealed: Sealed, source: zstandard.ZstdDecompressionReader) -> None:
        self.missing: dict[str, str] = {}
        self._at = manifest.FILE
        self._sealed = sealed
        self._source = source
        self._members = Members(source, Bounds.of(sealed.size))
        self.contents = self._members.contents

    def manifest(self) -> Manifest:
        """Return the manifest, which must be the first file. Raises BundleError otherwise."""
        try:
            first = next(iter(self._members), None)
        except EOFError:  # it is shorter than a member's header
            first = None
        if first is None or first.name != manifest.FILE or not first.isreg() or first.size > LISTED:
            raise NoBundle(f"not a bundle, because it does not begin with {manifest.FILE}; `lab bundle` makes one")
        contents = manifest.parse(b"".join(self.contents()).decode("utf-8", "replace"))
        self.missing = dict(contents.files)
        return contents

    def __iter__(self) -> Iterator[tarfile.TarInfo]:
        """Yield each file, folder and link in turn.

        Raises ArchiveError for other file types, and for a path that leads out of the folder.
        """
        for member in self._members:
            self._at = member.name
            yield member
            self._at = ""

    def where(self) -> str:
        """Return the file being read; between two files, return the next file in the manifest."""
        return self._at or min(self.missing, default="its end")

    def end(self) -> None:
        """Read the end of the file after the last member. Raises BundleError unless all bytes match the seal."""
        while self._source.read(PIECE):
            pass
        self.check()

    def check(self) -> None:
        """Read the rest of the file without unpacking. Raises BundleError unless all bytes match the seal."""
        if not self._sealed.is_whole():
            raise BundleError("damaged: its last 64 bytes are not the SHA-256 of those before")


def _digest(pieces: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
