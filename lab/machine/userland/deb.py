"""Read Debian packages, which are `ar` archives with a tar of the files to install."""

from __future__ import annotations

import io
import lzma
import re
import struct
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.errors import MachineError

MAGIC = b"!<arch>\n"
HEADER = struct.Struct("16s12s6s6s8s10s2s")  # name, date, user, group, mode, size, end: all text
END = b"`\n"


@contextmanager
def contents(file: Path) -> Iterator[tarfile.TarFile]:
    """Yield the files that the package in `file` installs.

    Raises MachineError if the file is not a package or is damaged.
    """
    with _tar(file, "data.tar.xz") as tar:
        yield tar


def version(file: Path) -> str:
    """Return the version of the package in `file`. Raises MachineError if the file is not a package or is damaged."""
    with _tar(file, "control.tar.xz") as tar:
        control = tar.extractfile("./control")
        found = re.search(r"^Version: (\S+)$", control.read().decode() if control else "", re.MULTILINE)
    if found is None:
        raise MachineError(f"{file}: the package has no version")
    return found.group(1)


@contextmanager
def _tar(file: Path, name: str) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(fileobj=io.BytesIO(lzma.decompress(_member(file.read_bytes(), name)))) as tar:
            yield tar
    except (ValueError, KeyError, lzma.LZMAError, tarfile.TarError) as error:
        raise MachineError(f"{file}: not a package that can be unpacked: {error}") from None


def _member(archive: bytes, wanted: str) -> bytes:
    """Return one member of an `ar` archive. Raises ValueError if there is no such member."""
    names = []
    position = len(MAGIC)
    if not archive.startswith(MAGIC):
        raise ValueError("it is not an ar archive")
    while position < len(archive):
        if position + HEADER.size > len(archive):
            raise ValueError("it ends within a header")
        name, *_, size, end = HEADER.unpack_from(archive, position)
        if end != END or not size.strip().isdigit():
            raise ValueError(f"there is no member's header at byte {position}")
        start, position = position + HEADER.size, position + HEADER.size + int(size)
        if position > len(archive):
            raise ValueError("it ends within a member")
        names.append(name.decode("ascii", "replace").strip().rstrip("/"))
        if names[-1] == wanted:
            return archive[start:position]
        position += position % 2
    raise ValueError(f"it holds {', '.join(names) or 'nothing'}, but no {wanted}")
