"""Pack a folder into one file and unpack it again: a tar with zstd compression that begins with its own SHA-256.

The digest is in a skippable frame, which zstd readers ignore, so `tar --zstd -xf` can also unpack the file. The tar of
a folder is the same on every machine, without owners. The compressed form depends on the zstd version. For most
folders, an archive stores only the files: their contents, and whether they are executable. Of a sealed folder (a
userland), it stores every folder, link, permission and date.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import struct
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import zstandard

from lab.base.archive.errors import ArchiveError
from lab.base.archive.members import PIECE, WINDOW, Bounds, Members
from lab.base.archive.unpacked import EXECUTABLE, PLAIN, Unpacked

SUFFIX = ".tar.zst"
LEVEL, QUICK = 3, 1  # of zstd: for files that are kept, and for files that only travel
_SKIPPABLE = struct.Struct("<II")  # a frame's magic number, and how many bytes follow
_MAGIC = 0x184D2A50
_HEADER = _SKIPPABLE.size + hashlib.sha256().digest_size


def pack(folder: Path, target: BinaryIO, *, sealed: bool = False, quick: bool = False) -> None:
    """Write the contents of `folder` to `target`, an empty file that is open for reading and writing.

    A `quick` archive takes half the time, but is larger, by a tenth for a userland and by two thirds for a record.

    Raises OSError, and ArchiveError for file types that no archive holds, such as a device.
    """
    target.write(bytes(_HEADER))
    with (
        zstandard.ZstdCompressor(QUICK if quick else LEVEL, write_checksum=True).stream_writer(
            target, closefd=False
        ) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in _below(folder):
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            if sealed:
                _add_sealed(tar, path, member)
            elif path.is_file():
                _add_file(tar, path, member)
    digest = _digest(target)
    target.seek(0)
    target.write(_SKIPPABLE.pack(_MAGIC, len(digest)) + digest)


def pack_programs(files: Mapping[str, bytes]) -> bytes:
    """Return a plain tar of these files, by path, all of them executable."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), EXECUTABLE
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def unpack(source: BinaryIO, folder: Path, *, sealed: bool = False) -> dict[str, str]:
    """Write the contents of the archive `source` into `folder`.

    `source` must be seekable, and `folder` empty or missing. Return the SHA-256 of each written file by its path in the
    folder, so that the file need not be read again. The function writes no file unless every byte is as packed, and
    never more than the archive's size allows (`Bounds`). If the function raises, ignore the written files. Raises
    ArchiveError, and OSError if a file cannot be read or written.
    """
    header = source.read(_HEADER)
    if not header.startswith(_SKIPPABLE.pack(_MAGIC, _HEADER - _SKIPPABLE.size)):
        raise ArchiveError("it does not begin like an archive of this lab")
    if _digest(source) != header[_SKIPPABLE.size :]:
        raise ArchiveError("its bytes do not match its SHA-256")
    size = source.seek(0, os.SEEK_END)
    source.seek(_HEADER)
    unpacked = Unpacked(folder, lambda _: 0 if sealed else None)
    decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW)
    try:
        with decompressor.stream_reader(source, closefd=False) as stream:
            members = Members(stream, Bounds.of(size))
            for member in members:
                if member.isreg():
                    unpacked.write(member, members.contents())
                else:
                    unpacked.add(member)
        unpacked.settle()
        return unpacked.hashes
    except (tarfile.TarError, zstandard.ZstdError, EOFError) as error:
        raise ArchiveError(f"it was not made by this lab: {error}") from error


def _below(folder: Path) -> Iterator[Path]:
    """Yield all contents of a folder, in the same order on every machine, each folder before its contents."""
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)


def _add_file(tar: tarfile.TarFile, path: Path, member: tarfile.TarInfo) -> None:
    about = path.stat()
    member.size, member.mode = about.st_size, EXECUTABLE if about.st_mode & 0o100 else PLAIN
    with path.open("rb") as file:
        tar.addfile(member, file)


def _add_sealed(tar: tarfile.TarFile, path: Path, member: tarfile.TarInfo) -> None:
    about = path.lstat()
    member.mode, member.mtime = stat.S_IMODE(about.st_mode), int(about.st_mtime)
    if stat.S_ISREG(about.st_mode):
        member.size = about.st_size
        with path.open("rb") as file:
            tar.addfile(member, file)
        return
    if stat.S_ISDIR(about.st_mode):
        member.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(about.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, str(path.readlink())
    else:
        raise ArchiveError(f"{path} is neither a file, a folder nor a link")
    tar.addfile(member)


def _digest(file: BinaryIO) -> bytes:
    """Return the SHA-256 of the bytes after the header."""
    file.seek(_HEADER)
    sha256 = hashlib.sha256()
    while piece := file.read(PIECE):
        sha256.update(piece)
    return sha256.digest()
