"""Fill a new folder with what an archive holds. Links are made last, so that nothing is ever written through one."""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from lab.archive.errors import ArchiveError

__all__ = ["Unpacked"]

OWN = "/proc/self/cwd"  # whoever follows this link comes to where it stands anyway: a guest to its trial's folder
EXECUTABLE, PLAIN = 0o755, 0o644


class Unpacked:
    """Writes below `folder`, where nothing else writes.

    In a sealed folder links, permissions and dates count, and no link leads out of it. `sealed` says of a path how many
    of its parts name the sealed folder that it lies in (0: `folder` itself), or None where nothing is sealed.
    """

    def __init__(self, folder: Path, sealed: Callable[[str], int | None]) -> None:
        self.folder = folder
        self.hashes: dict[str, str] = {}  # path of a file that was written -> its SHA-256
        self._sealed = sealed
        self._links: dict[str, str] = {}
        self._settled_last: dict[str, tarfile.TarInfo] = {}  # folders and links

    def write(self, member: tarfile.TarInfo, pieces: Iterator[bytes]) -> str:
        """Write a file and return its SHA-256. Raises ArchiveError when its path is taken."""
        digest = hashlib.sha256()
        target = self.folder / member.name
        with _placed(member.name):
            target.parent.mkdir(parents=True, exist_ok=True)
            file = target.open("xb")
        with file:
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
        if self._is_sealed(member.name):
            target.chmod(member.mode & 0o777)
            os.utime(target, (member.mtime, member.mtime))
        else:
            target.chmod(EXECUTABLE if member.mode & 0o100 else PLAIN)
        self.hashes[member.name] = digest.hexdigest()
        return self.hashes[member.name]

    def add(self, member: tarfile.TarInfo) -> None:
        """Add a folder, or note a link. Raises ArchiveError for anything else, and for a link that leads out."""
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
        """Make the links, and give sealed folders and links the permissions and dates that they had."""
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

    def _is_sealed(self, path: str) -> bool:
        return self._sealed(path) is not None

    def _stays(self, path: str, to: str) -> bool:
        """Say whether a link at `path` leads to something in the same sealed folder.

        The link's own folder is a real one, so that going up first, and no further than to the sealed folder, cannot
        lead out.
        """
        parts = to.split("/")
        up = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
        depth = len(PurePosixPath(path).parts) - 1 - (self._sealed(path) or 0)
        return to == OWN or (bool(to) and not to.startswith("/") and ".." not in parts[up:] and up <= depth)


@contextmanager
def _placed(path: str) -> Iterator[None]:
    """Say of a path that is taken already that the archive is wrong."""
    try:
        yield
    except (FileExistsError, NotADirectoryError):
        raise ArchiveError(f"{path} would lie where something else does") from None
