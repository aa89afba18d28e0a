"""Fill a folder with the files that packages install, without root and without running any of their programs.

Owners, dates, permissions and links do not depend on the machine: files are 0444 or 0555, folders are 0755, and links
have relative targets, so that they stay inside the folder even if the folder moves.
"""

from __future__ import annotations

import fnmatch
import os
import posixpath
import tarfile
from collections.abc import Sequence
from pathlib import Path

from lab.errors import MachineError

MERGED = ("bin", "lib", "lib64", "sbin")  # old folders that are links to those in usr


class Tree:
    """Writes into a new folder. No file of a package leads out of the folder, or replaces an existing file."""

    def __init__(self, folder: Path, remove: Sequence[str] = ()) -> None:
        self.folder = folder
        self._remove = tuple(remove)
        self._owners: dict[str, str] = {}  # path -> the package that it comes from
        folder.mkdir()

    def merge(self) -> None:
        """Link the old top-level folders to the folders in usr, which hold the packages' files."""
        for name in MERGED:
            self.link(name, f"usr/{name}", "the userland")

    def add(self, package: str, tar: tarfile.TarFile) -> None:
        """Unpack a package. Raises MachineError if a path leads out of the folder, or belongs to another package."""
        for member in tar:
            path = self._inside(member.name, package)
            if not path or self._is_removed(path):
                continue
            if member.isdir():
                self.make_folder(path, package)
            elif member.issym():
                self.link(path, member.linkname, package)
            elif member.islnk():
                self.write(path, _content(tar, tar.getmember(member.linkname)), bool(member.mode & 0o111), package)
            elif member.isfile() and not member.issparse():
                self.write(path, _content(tar, member), bool(member.mode & 0o111), package)
            else:
                raise MachineError(f"package {package}: {member.name} is neither a file, a folder nor a link")

    def write(self, path: str, content: bytes, executable: bool, owner: str) -> None:
        """Write a file. Raises MachineError if the path is taken."""
        target = self._place(path, owner)
        target.write_bytes(content)
        target.chmod(0o555 if executable else 0o444)

    def link(self, path: str, to: str, owner: str) -> None:
        """Create a symbolic link with a relative target. Raises MachineError if the link leads out of the folder."""
        end = to.lstrip("/") if to.startswith("/") else posixpath.join(posixpath.dirname(path), to)
        if posixpath.normpath(f"{end}").split("/")[0] == "..":
            raise MachineError(f"package {owner}: the link {path} leads out of the userland, to {to}")
        relative = posixpath.relpath(posixpath.normpath(end), posixpath.dirname(path) or ".")
        self._place(path, owner).symlink_to(relative)

    def lead_out(self, path: str, to: str, owner: str) -> None:
        """Create a symbolic link to an absolute host path.

        Only this method creates links out of the folder, and packages cannot use it.
        """
        self._place(path, owner).symlink_to(to)

    def make_folder(self, path: str, owner: str) -> None:
        """Create a folder and its parents."""
        made = self.folder
        for part in path.split("/"):
            made = made / part
            if made.is_symlink() or (made.exists() and not made.is_dir()):
                raise MachineError(f"package {owner}: {path} would be below {made.name}, which is no folder")
            made.mkdir(exist_ok=True)

    def settle(self, seconds: int) -> None:
        """Set all dates to the same value, in seconds since 1970."""
        for top, folders, files in os.walk(self.folder, topdown=False):
            for name in [*folders, *files]:
                path = Path(top, name)
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o755)
                os.utime(path, (seconds, seconds), follow_symlinks=False)
        self.folder.chmod(0o755)
        os.utime(self.folder, (seconds, seconds))

    def _inside(self, name: str, package: str) -> str:
        """Return the path inside the folder for a package's path; "" is the folder itself.

        Raises MachineError if the path is outside.
        """
        path = posixpath.normpath(name.lstrip("/"))
        if path.split("/")[0] == "..":
            raise MachineError(f"package {package}: {name} leads out of the userland")
        if not path.isprintable():
            raise MachineError(f"package {package}: {name!r} is not a printable name")
        top, _, rest = path.partition("/")
        if top in MERGED:
            return f"usr/{path}" if rest else ""
        return "" if path == "." else path

    def _place(self, path: str, owner: str) -> Path:
        if path in self._owners:
            raise MachineError(f"packages {self._owners[path]} and {owner} both have {path}")
        parent = posixpath.dirname(path)
        if parent:
            self.make_folder(parent, owner)
        target = self.folder / path
        if target.is_dir() and not target.is_symlink():
            raise MachineError(f"package {owner}: {path} is a folder already")
        self._owners[path] = owner
        return target

    def _is_removed(self, path: str) -> bool:
        parts = path.split("/")
        above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
        return any(fnmatch.fnmatchcase(each, pattern) for pattern in self._remove for each in above)


def _content(tar: tarfile.TarFile, file: tarfile.TarInfo) -> bytes:
    """Return the contents of a file without tarfile's own reader, whose creation may lose an interrupt."""
    assert tar.fileobj is not None  # it is open
    tar.fileobj.seek(file.offset_data)
    return tar.fileobj.read(file.size)
