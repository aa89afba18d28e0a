"""Fill a new folder with what a bundle holds. Links are made last, so that nothing is ever written through one."""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from lab.bundle.errors import BundleError
from lab.bundle.part import USERLANDS

__all__ = ["Unpacked"]

OWN = "/proc/self/cwd"  # whoever follows this link comes to where it stands anyway: a guest to its trial's folder


class Unpacked:
    """Writes below `folder`, where nothing else writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._links: dict[str, str] = {}
        self._folders: dict[str, tarfile.TarInfo] = {}

    def write(self, member: tarfile.TarInfo, pieces: Iterator[bytes]) -> str:
        """Write a file and return its SHA-256. Raises BundleError when its path is taken."""
        digest = hashlib.sha256()
        target = self.folder / member.name
        with _placed(member.name):
            target.parent.mkdir(parents=True, exist_ok=True)
            file = target.open("xb")
        with file:
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
        if _is_sealed(member.name):
            target.chmod(member.mode & 0o777)
            os.utime(target, (member.mtime, member.mtime))
        elif member.mode & 0o100:
            target.chmod(0o755)
        return digest.hexdigest()

    def add(self, member: tarfile.TarInfo) -> None:
        """Add a folder, or note a link. Raises BundleError for anything else, and for a link that leads out."""
        if member.isdir():
            with _placed(member.name):
                (self.folder / member.name).mkdir(parents=True, exist_ok=True)
            self._folders[member.name] = member
        elif member.issym() and _is_sealed(member.name):
            if not _stays(member.name, member.linkname):
                raise BundleError(f"the link {member.name} leads out of its userland, to {member.linkname}")
            self._links[member.name] = member.linkname
            self._folders[member.name] = member
        else:
            raise BundleError(f"{member.name} is neither a file nor a folder")

    def settle(self) -> None:
        """Make the links, and give folders and links of userlands the permissions and dates that they had."""
        for path, to in self._links.items():
            with _placed(path):
                target = self.folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(to)
        for path, member in sorted(self._folders.items(), reverse=True):
            if _is_sealed(path):
                if path not in self._links:
                    (self.folder / path).chmod(member.mode & 0o777)
                os.utime(self.folder / path, (member.mtime, member.mtime), follow_symlinks=False)


@contextmanager
def _placed(path: str) -> Iterator[None]:
    """Say of a path that is taken already that the bundle is wrong."""
    try:
        yield
    except (FileExistsError, NotADirectoryError):
        raise BundleError(f"{path} would lie where something else does") from None


def _is_sealed(path: str) -> bool:
    """Say whether links, permissions and dates count there: in a userland."""
    return path.startswith(f"{USERLANDS}/")


def _stays(path: str, to: str) -> bool:
    """Say whether a link at `path` leads to something in the same userland.

    Its folder is a real one, so that going up first, and no further than to the userland, cannot lead out.
    """
    parts = to.split("/")
    up = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    depth = len(PurePosixPath(path).parts) - 3  # below userlands/ID
    return to == OWN or (bool(to) and not to.startswith("/") and ".." not in parts[up:] and up <= depth)
