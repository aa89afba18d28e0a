"""Fill a new folder with the contents of an archive.

Links are created last, so that no file is written through a link.
"""

from __future__ import annotations

import errno
import hashlib
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from lab.base.archive.errors import ArchiveError

OWN = "/proc/self/cwd"  # the link leads to its reader's folder: a guest is in its trial's folder
EXECUTABLE, PLAIN = 0o755, 0o644
_NO_PATH = (errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL)


class Unpacked:
    """Writes below `folder`, where no other code may write.

    In a sealed folder, links, permissions and dates are preserved, and no link leads out of the folder. `sealed`
    returns the number of leading parts of a path that name its sealed folder (0 means `folder` itself), or None if the
    path is not in a sealed folder.
    """

    def __init__(self, folder: Path, sealed: Callable[[str], int | None]) -> None:
        self.folder = folder
        self.hashes: dict[str, str] = {}  # path of a written file -> its SHA-256
        self._sealed = sealed
        self._made: set[Path] = set()  # folders that exist: each is made once
        self._links: dict[str, str] = {}
        self._settled_last: dict[str, tarfile.TarInfo] = {}  # folders and links

    def write(self, member: tarfile.TarInfo, pieces: Iterator[bytes]) -> str:
        """Write a file, and return its SHA-256. Raises ArchiveError if the path is taken."""
        digest = hashlib.sha256()
        with _placed(member.name), self._opened(member.name) as file:
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
            if self._is_sealed(member.name):
                os.fchmod(file.fileno(), member.mode & 0o777)
                file.flush()  # a later write would change the date
                os.utime(file.fileno(), (member.mtime, member.mtime))
            else:
                os.fchmod(file.fileno(), EXECUTABLE if member.mode & 0o100 else PLAIN)
        self.hashes[member.name] = digest.hexdigest()
        return self.hashes[member.name]

    def add(self, member: tarfile.TarInfo) -> None:
        """Add a folder, or record a link for later.

        Raises ArchiveError for other file types, and for a link that leads out of the folder.
        """
        if member.isdir():
            with _placed(member.name):
                (self.folder / member.name).mkdir(parents=True, exist_ok=True)
        elif member.issym() and self._is_sealed(member.name):
            if not self._stays(member.name, member.linkname):
                raise ArchiveError(f"the link {member.name} leads out of its folder, to {member.linkname}")
            self._links[member.name] = member.linkname
        else:
            raise ArchiveError(f"{member.name} is neither a file nor a folder")
        self._settled_last[member.name] = member

    def settle(self) -> None:
        """Create the links, and restore the permissions and dates of sealed folders and links."""
        for path, to in self._links.items():
            with _placed(path):
                target = self.folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(to)
        for path, member in sorted(self._settled_last.items(), reverse=True):
            if self._is_sealed(path):
                if path not in self._links:
                    (self.folder / path).chmod(member.mode & 0o777)
                os.utime(self.folder / path, (member.mtime, member.mtime), follow_symlinks=False)

    def _opened(self, path: str) -> BinaryIO:
        """Open a new file, after creating its parent folders."""
        target = self.folder / path
        if target.parent not in self._made:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(target.parent)
        return target.open("xb")

    def _is_sealed(self, path: str) -> bool:
        return self._sealed(path) is not None

    def _stays(self, path: str, to: str) -> bool:
        """Return whether the target of a link at `path` is in the same sealed folder.

        The link's own folder is a real folder, so a target that first goes up, but not above the sealed folder, cannot
        lead out.
        """
        parts = to.split("/")
        up = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
        depth = len(PurePosixPath(path).parts) - 1 - (self._sealed(path) or 0)
        return to == OWN or (bool(to) and not to.startswith("/") and ".." not in parts[up:] and up <= depth)


@contextmanager
def _placed(path: str) -> Iterator[None]:
    """Convert the file system's error about a path that is taken or impossible to an ArchiveError."""
    try:
        yield
    except (FileExistsError, NotADirectoryError):
        raise ArchiveError(f"{path} is taken by something else") from None
    except OSError as error:
        if error.errno not in _NO_PATH:
            raise
        raise ArchiveError(f"{path} cannot be created here: {error.strerror}") from None
