"""Pack a folder into one file and unpack it again: a tar of plain files, by zstd, that begins with its own SHA-256.

The digest stands in a skippable frame, which zstd's readers pass over: `tar --zstd -xf` unpacks the file, too. The tar
is the same for the same files on every machine, without owners or times; how zstd packs it depends on its version.
"""

from __future__ import annotations

import hashlib
import shutil
import struct
import tarfile
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import zstandard

from lab.errors import LabError

__all__ = ["SUFFIX", "ArchiveError", "pack", "unpack"]

SUFFIX = ".tar.zst"
LEVEL = 3
_SKIPPABLE = struct.Struct("<II")  # a frame's magic number, and how many bytes follow
_MAGIC = 0x184D2A50
_HEADER = _SKIPPABLE.size + hashlib.sha256().digest_size
_BLOCK = 1 << 20
_EXECUTABLE, _PLAIN = 0o755, 0o644


class ArchiveError(LabError):
    """Raised when an archive is damaged, or holds what no folder of ours does."""


def pack(folder: Path, target: BinaryIO) -> None:
    """Write the files of `folder` to `target`, an empty file open to read and write. Raises OSError."""
    target.write(bytes(_HEADER))
    with (
        zstandard.ZstdCompressor(LEVEL, write_checksum=True).stream_writer(target, closefd=False) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = tarfile.TarInfo(path.relative_to(folder).as_posix())
            info.size = path.stat().st_size
            info.mode = _EXECUTABLE if path.stat().st_mode & 0o100 else _PLAIN
            with path.open("rb") as file:
                tar.addfile(info, file)
    digest = _digest(target)
    target.seek(0)
    target.write(_SKIPPABLE.pack(_MAGIC, len(digest)) + digest)


def unpack(source: BinaryIO, folder: Path) -> None:
    """Write the files of the archive `source`, which can seek, into `folder`.

    Nothing is written unless every byte is as it was packed. Raises ArchiveError, and OSError when a file cannot be
    read or written.
    """
    header = source.read(_HEADER)
    if not header.startswith(_SKIPPABLE.pack(_MAGIC, _HEADER - _SKIPPABLE.size)):
        raise ArchiveError("it does not begin as an archive of this lab does")
    if _digest(source) != header[_SKIPPABLE.size :]:
        raise ArchiveError("its bytes are not those that its SHA-256 was made of")
    source.seek(_HEADER)
    try:
        with (
            zstandard.ZstdDecompressor().stream_reader(source, closefd=False) as stream,
            tarfile.open(fileobj=stream, mode="r|") as tar,
        ):
            for member in tar:
                _extract(tar, member, folder)
    except (tarfile.TarError, zstandard.ZstdError, ValueError, EOFError) as error:
        raise ArchiveError(f"it was not made by this lab: {error}") from error


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    name = PurePosixPath(member.name)
    if not member.isreg() or name.is_absolute() or ".." in name.parts:
        raise ArchiveError(f"it holds '{member.name}', which is no plain file below its folder")
    target = folder / name
    if target.exists():
        raise ArchiveError(f"it holds '{member.name}' twice")
    target.parent.mkdir(parents=True, exist_ok=True)
    content = tar.extractfile(member)
    assert content is not None  # it is a regular file
    with target.open("wb") as file:
        shutil.copyfileobj(content, file, _BLOCK)
    target.chmod(_EXECUTABLE if member.mode & 0o100 else _PLAIN)


def _digest(file: BinaryIO) -> bytes:
    """Return the SHA-256 of what follows the header."""
    file.seek(_HEADER)
    sha256 = hashlib.sha256()
    while data := file.read(_BLOCK):
        sha256.update(data)
    return sha256.digest()
