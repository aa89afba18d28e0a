"""Pack a folder into one file and unpack it again: a tar by zstd that begins with its own SHA-256.

The digest stands in a skippable frame, which zstd's readers pass over: `tar --zstd -xf` unpacks the file, too. The tar
is the same for the same folder on every machine, without owners; how zstd packs it depends on its version. Of most
folders only the files count, with what they hold and whether they are programs. Of a sealed one, a userland, every
folder, link, permission and date counts.
"""

from __future__ import annotations

import hashlib
import stat
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

import zstandard

from lab.archive.errors import ArchiveError
from lab.archive.unpacked import EXECUTABLE, PLAIN, Unpacked

__all__ = ["SUFFIX", "pack", "unpack"]

SUFFIX = ".tar.zst"
LEVEL, QUICK = 3, 1  # of zstd: for what is kept, and for what only travels
_SKIPPABLE = struct.Struct("<II")  # a frame's magic number, and how many bytes follow
_MAGIC = 0x184D2A50
_HEADER = _SKIPPABLE.size + hashlib.sha256().digest_size
_BLOCK = 1 << 20


def pack(folder: Path, target: BinaryIO, *, sealed: bool = False, quick: bool = False) -> None:
    """Write what is in `folder` to `target`, an empty file open to read and write.

    A `quick` archive takes half the time, and is larger: a userland's by a tenth, a record's by two thirds.

    Raises OSError, and ArchiveError for what no archive holds: a device, say.
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


def unpack(source: BinaryIO, folder: Path, *, sealed: bool = False) -> dict[str, str]:
    """Write what the archive `source`, which can seek, holds into `folder`, which is empty or not there.

    Nothing is written unless every byte is as it was packed. What is there counts only when this returns. Returns the
    SHA-256 of each file that was written, by its path in the folder, so that nobody need read it again. Raises
    ArchiveError, and OSError when a file cannot be read or written.
    """
    header = source.read(_HEADER)
    if not header.startswith(_SKIPPABLE.pack(_MAGIC, _HEADER - _SKIPPABLE.size)):
        raise ArchiveError("it does not begin as an archive of this lab does")
    if _digest(source) != header[_SKIPPABLE.size :]:
        raise ArchiveError("its bytes are not those that its SHA-256 was made of")
    source.seek(_HEADER)
    unpacked = Unpacked(folder, lambda _: 0 if sealed else None)
    try:
        with (
            zstandard.ZstdDecompressor().stream_reader(source, closefd=False) as stream,
            tarfile.open(fileobj=stream, mode="r|") as tar,
        ):
            for member in tar:
                _extract(tar, member, unpacked)
        unpacked.settle()
        return unpacked.hashes
    except (tarfile.TarError, zstandard.ZstdError, ValueError, EOFError) as error:
        raise ArchiveError(f"it was not made by this lab: {error}") from error


def _below(folder: Path) -> Iterator[Path]:
    """Yield all that is in a folder, in the same order everywhere, folders before what they hold."""
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


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, unpacked: Unpacked) -> None:
    name = PurePosixPath(member.name)
    if not name.parts or name.is_absolute() or ".." in name.parts:
        raise ArchiveError(f"it holds '{member.name}', which would not lie below its folder")
    if not member.isreg():
        unpacked.add(member)
        return
    content = tar.extractfile(member)
    assert content is not None  # it is a regular file
    with content:  # closed by its finalizer, it would swallow an interrupt that arrives then
        unpacked.write(member, _pieces(content))


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_BLOCK):
        yield piece


def _digest(file: BinaryIO) -> bytes:
    """Return the SHA-256 of what follows the header."""
    file.seek(_HEADER)
    sha256 = hashlib.sha256()
    for piece in _pieces(file):
        sha256.update(piece)
    return sha256.digest()
