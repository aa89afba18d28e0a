"""Read packetdrill's source from its public repository at one commit, or from a local folder or tar file."""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lab.base.building import Progress
from lab.errors import InputError, MachineError
from lab.machine.userland.mirror import Mirrors, NotFetched
from lab.spec.errors import unreadable

COMMIT = "2c4001c4d6fc04a3bbd01d4b92be62717a37648a"  # of 14 May 2026
SHA256 = "75569330fe9c4a40824473234a55033c91aa480b30afb9dd1303fac4dfdb961c"
REPOSITORY = "https://github.com/google/packetdrill"
FOLDER = PurePosixPath("gtests/net/packetdrill")  # in the repository: the program's folder
MAIN = "packetdrill.c"
COMPILED = {".c", ".h", ".l", ".y"}
MADE = {"lexer.c", "parser.c", "parser.h"}  # made by flex and bison; a tree that was built in has them
MAKEFILES = {"Makefile.Linux", "Makefile.common"}


@dataclass(frozen=True)
class PacketdrillSource:
    """Holds the source files of the program, by name."""

    files: Mapping[str, bytes]

    @property
    def sha256(self) -> str:
        """The hash of all names and contents, which is equal for a tree, a tar file and a checkout."""
        each = sorted((name, hashlib.sha256(content).hexdigest()) for name, content in self.files.items())
        return hashlib.sha256(repr(each).encode()).hexdigest()


def fetch(progress: Progress) -> PacketdrillSource:
    """Return the source at COMMIT. Raises MachineError if the source is not available, or if its hash is wrong."""
    archive = f"archive/{COMMIT}.tar.gz"
    url = f"{REPOSITORY}/{archive}"
    progress.say(f"fetching packetdrill {COMMIT[:12]}")
    try:
        packed = Mirrors((REPOSITORY,)).read(archive)
    except NotFetched as error:
        raise MachineError(f"{error}; to build a source that you have, use --source") from None
    found = _whole(dict(_in_tar(io.BytesIO(packed), url)), url)
    if found.sha256 != SHA256:
        raise MachineError(f"{url} has different files from those of {COMMIT[:12]}: they are not used")
    return found


def read(path: Path) -> PacketdrillSource:
    """Return the source in a folder or a tar file. Raises InputError if there is no source."""
    if path.is_dir():
        home = path / FOLDER if (path / FOLDER).is_dir() else path
        return _whole({file.name: file.read_bytes() for file in home.iterdir() if _counts(file.name)}, str(path))
    try:
        with path.open("rb") as file:
            return _whole(dict(_in_tar(file, str(path))), str(path))
    except OSError as error:
        raise InputError(f"{path}: {unreadable(path, error)}") from None


def _in_tar(file: io.IOBase, name: str) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(fileobj=file) as tar:
            for member in tar:
                path = PurePosixPath(member.name)
                if member.isfile() and _counts(path.name) and path.parent.parts[-3:] == FOLDER.parts:
                    held = tar.extractfile(member)
                    assert held is not None  # it is a regular file
                    with held:
                        yield path.name, held.read()
    except (tarfile.TarError, EOFError, lzma.LZMAError, zlib.error) as error:
        first = str(error).partition(":\n")[0]  # the rest lists what each compression lacks
        raise InputError(f"{name}: not a readable tar file ({first}); name one, or a folder") from None


def _counts(name: str) -> bool:
    return name in MAKEFILES or (PurePosixPath(name).suffix in COMPILED and name not in MADE)


def _whole(files: Mapping[str, bytes], name: str) -> PacketdrillSource:
    if lacking := sorted(({MAIN} | MAKEFILES) - files.keys()):
        raise InputError(f"{name}: not a source of packetdrill: it has no {' and no '.join(lacking)}")
    return PacketdrillSource(files)
