"""Write archives in the format that the kernel unpacks into its first file system: cpio's "newc".

The kernel's Documentation/driver-api/early-userspace/buffer-format.rst describes the format. One file may hold several
archives, one after another.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

_MAGIC = "070701"
_END = "TRAILER!!!"


class Archive:
    """Writes one archive to `file`. Paths are absolute.

    A path that is already in the archive is not written again. `close` ends the archive. All entries belong to root. A
    file keeps its modification time, because Python compares this time with the time in the bytecode.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._names: set[str] = set()

    def folder(self, path: str) -> None:
        """Add a folder and its parents."""
        self._put(path, stat.S_IFDIR | 0o755)

    def link(self, path: str, target: str) -> None:
        """Add a symbolic link."""
        self._put(path, stat.S_IFLNK | 0o777, target.encode())

    def device(self, path: str, major: int, minor: int) -> None:
        """Add a character device that every user may use."""
        self._put(path, stat.S_IFCHR | 0o666, device=(major, minor))

    def file(self, path: str, data: bytes, mode: int = 0o644, time: int = 0) -> None:
        """Add a file; `time` is in seconds since 1970."""
        self._put(path, stat.S_IFREG | mode, data, time)

    def copy(self, source: Path | str) -> None:
        """Add the file or folder at `source` on this machine under the same path.

        A folder is added without its contents. Symbolic links in the path are added with their targets. Raises OSError.
        """
        here = Path("/")
        parts = Path(os.path.normpath(source)).parts[1:]
        for index, part in enumerate(parts):
            here /= part
            if here.is_symlink():
                target = here.readlink()
                self.link(str(here), str(target))
                self.copy(here.parent.joinpath(target, *parts[index + 1 :]))
                return
        if here.is_dir():
            self.folder(str(here))
        else:
            about = here.stat()
            self.file(str(here), here.read_bytes(), about.st_mode & 0o777, int(about.st_mtime))

    def close(self) -> None:
        """End the archive; the file stays open."""
        self._write(_END, 0)

    def _put(self, path: str, mode: int, data: bytes = b"", time: int = 0, device: tuple[int, int] = (0, 0)) -> None:
        name = path.strip("/")
        if not name or name in self._names:
            return
        self.folder(name.rpartition("/")[0])
        self._names.add(name)
        self._write(name, mode, data, time, device)

    def _write(self, name: str, mode: int, data: bytes = b"", time: int = 0, device: tuple[int, int] = (0, 0)) -> None:
        encoded = name.encode() + b"\0"
        # inode, mode, user, group, links, time, size, device of the file system, device, length of the name, checksum
        fields = (len(self._names), mode, 0, 0, 1, time, len(data), 0, 0, *device, len(encoded), 0)
        self._padded((_MAGIC + "".join(f"{field:08X}" for field in fields)).encode() + encoded)
        self._padded(data)

    def _padded(self, data: bytes) -> None:
        self._file.write(data + bytes(-len(data) % 4))
