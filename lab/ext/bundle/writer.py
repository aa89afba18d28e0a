"""Write a bundle atomically. Equal parts give equal bytes."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

from lab.base.moving import move
from lab.base.owner import private, sweep
from lab.errors import InputError, MachineError
from lab.ext.bundle import crate, manifest
from lab.ext.bundle.crate import About
from lab.ext.bundle.frames import writing
from lab.ext.bundle.hashed import Hashed
from lab.ext.bundle.manifest import Manifest
from lab.ext.bundle.part import Part

DATE = 1767225600  # the date of every file that need not keep its own: 2026-01-01
STAGING = ".replab-bundle"  # the start of a folder's name, next to the bundle, in which the bundle is written


class WritingProgress(Protocol):
    """Receives progress reports from the writer."""

    def say(self, message: str) -> None:
        """Begin a new stage."""

    def step(self, done: int, total: int) -> None:
        """Report that `done` of `total` parts of this stage are done."""


def check(out: Path) -> None:
    """Raise InputError if `out` exists, or its folder does not."""
    if out.exists():
        raise InputError(f"{out} exists already; remove it, or choose a different name")
    if not out.parent.is_dir():
        wrong = "is a file" if out.parent.exists() else "does not exist"
        raise InputError(f"{out.parent} {wrong}; name a bundle in an existing folder")


def write(out: Path, parts: Sequence[Part], about: About, program: Path, progress: WritingProgress) -> Manifest:
    """Write the bundle `out`, and return its contents. `program` is the zip file that `python3 OUT` runs.

    Raises InputError if `out` exists or cannot be created, and MachineError if the write fails.
    """
    check(out)
    ordered = sorted(parts, key=lambda part: f"{part.path}/")  # in the order of their files
    try:
        sweep(out.parent, STAGING)
        with private(out.parent, STAGING) as place:
            progress.say("hashing parts")
            files: dict[str, str] = {}
            described: list[tuple[Part, Manifest]] = []
            for number, part in enumerate(ordered, 1):
                digests = part.digests()
                files |= digests
                described.append((part, Manifest(digests)))
                progress.step(number, len(ordered))
            metadata = crate.render(about, described)
            contents = Manifest(files | {crate.FILE: crate.digest(metadata)})
            fresh = place / "bundle"
            with fresh.open("wb") as file, program.open("rb") as zipped:
                progress.say("writing the bundle")
                _archive(file, zipped, contents, metadata, ordered, progress)
                file.flush()
                os.fsync(file.fileno())
            move(fresh, out)
    except OSError as error:
        raise MachineError(f"the bundle {out} cannot be written: {error.strerror or error}") from None
    return contents


def _archive(
    file: BinaryIO,
    program: BinaryIO,
    contents: Manifest,
    metadata: bytes,
    parts: Sequence[Part],
    progress: WritingProgress,
) -> None:
    with (
        writing(file, program) as frames,
        tarfile.TarFile(fileobj=frames, mode="w", format=tarfile.PAX_FORMAT) as tar,  # type: ignore[arg-type] # it only writes
    ):
        for name, text in ((manifest.FILE, contents.render().encode()), (crate.FILE, metadata)):
            tar.addfile(_header(name, tarfile.REGTYPE, len(text)), io.BytesIO(text))
            frames.end()
        folders: set[str] = set()
        for number, part in enumerate(parts, 1):
            for above in reversed(PurePosixPath(part.path).parents[:-1]):
                if str(above) not in folders:
                    folders.add(str(above))
                    tar.addfile(_header(str(above), tarfile.DIRTYPE))
            for path, source in part.contents():
                _add(tar, part, path, source, contents)
            frames.end()
            progress.step(number, len(parts))


def _add(tar: tarfile.TarFile, part: Part, path: str, source: Path, contents: Manifest) -> None:
    """Add one file, folder or link of a part. Raises MachineError if the file changes in the meantime."""
    about = source.lstat()
    if stat.S_ISDIR(about.st_mode):
        header = _header(path, tarfile.DIRTYPE)
    elif stat.S_ISLNK(about.st_mode) and part.sealed:
        header = _header(path, tarfile.SYMTYPE)
        header.linkname = str(source.readlink())
    elif stat.S_ISREG(about.st_mode):
        header = _header(path, tarfile.REGTYPE, about.st_size, executable=bool(about.st_mode & 0o100))
    else:
        raise MachineError(f"{source} is neither a file nor a folder: a bundle cannot hold it")
    if part.sealed:
        header.mode, header.mtime = stat.S_IMODE(about.st_mode), int(about.st_mtime)
    if not header.isreg():
        tar.addfile(header)
        return
    with source.open("rb") as file:
        hashed = Hashed(file)
        tar.addfile(header, hashed)
    if hashed.digest.hexdigest() != contents.files.get(path):
        raise MachineError(f"{source} changed while it was put into the bundle; try again")


def _header(path: str, kind: bytes, size: int = 0, *, executable: bool = False) -> tarfile.TarInfo:
    header = tarfile.TarInfo(path)
    header.type, header.size, header.mtime = kind, size, DATE
    header.mode = 0o755 if executable or kind == tarfile.DIRTYPE else 0o777 if kind == tarfile.SYMTYPE else 0o644
    return header
