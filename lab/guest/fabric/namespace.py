"""Create, enter and remove named network namespaces.

The namespaces work like `ip netns` namespaces (bind mounts under /run/netns), so a person can inspect them with that
command.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from lab.errors import LabError

CLONE_NEWNET = 0x40000000
MS_BIND = 0x1000
MNT_DETACH = 0x2
FOLDER = Path("/run/netns")

_libc = ctypes.CDLL(None, use_errno=True)


class NamespaceError(LabError):
    """Raised if a namespace cannot be created, entered or removed."""


def _call(what: str, result: int) -> None:
    if result != 0:
        raise NamespaceError(f"{what}: {os.strerror(ctypes.get_errno())}")


class Namespace(msgspec.Struct, frozen=True):
    """Represents a named network namespace."""

    name: str

    @property
    def path(self) -> Path:
        """The file that holds the namespace."""
        return FOLDER / self.name

    @classmethod
    def create(cls, name: str) -> Namespace:
        """Create a namespace called `name`.

        Raises NamespaceError if the name exists, or if the caller may not create namespaces.
        """
        with _restored():
            _call(f"making network namespace {name}", _libc.unshare(CLONE_NEWNET))
            return cls.adopt(name, "thread-self")

    @classmethod
    def adopt(cls, name: str, process: int | str) -> Namespace:
        """Give the namespace of `process` the name `name`. Raises NamespaceError if the name exists."""
        made = cls(name)
        FOLDER.mkdir(parents=True, exist_ok=True)
        try:
            made.path.touch(mode=0o444, exist_ok=False)
        except FileExistsError:
            raise NamespaceError(f"network namespace {name} exists already") from None
        try:
            own = f"/proc/{process}/ns/net".encode()
            _call(f"naming network namespace {name}", _libc.mount(own, bytes(made.path), None, MS_BIND, None))
        except NamespaceError:
            made.path.unlink()
            raise
        return made

    def remove(self) -> None:
        """Unmount and delete the namespace. The kernel removes its contents once no process uses it."""
        _call(f"removing network namespace {self.name}", _libc.umount2(bytes(self.path), MNT_DETACH))
        self.path.unlink()

    def join(self) -> None:
        """Move the calling thread into the namespace permanently.

        Only a child between fork and exec should call this method.
        """
        handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _call(f"entering network namespace {self.name}", _libc.setns(handle, CLONE_NEWNET))
        finally:
            os.close(handle)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Move the calling thread into the namespace for this context."""
        with _restored():
            self.join()
            yield

    @contextmanager
    def sysfs(self) -> Iterator[Path]:
        """Mount the namespace's own /sys within this context.

        A sysfs shows the interfaces of the namespace in which it was mounted.
        """
        folder = Path(f"/run/sysfs-{self.name}")
        what = f"showing /sys of network namespace {self.name}"
        with self.entered():
            folder.mkdir()
            try:
                _call(what, _libc.mount(b"sysfs", bytes(folder), b"sysfs", 0, None))
                try:
                    yield folder
                finally:
                    _call(what, _libc.umount2(bytes(folder), MNT_DETACH))
            finally:
                folder.rmdir()


@contextmanager
def _restored() -> Iterator[None]:
    """Return the thread to its original namespace at the end of this context."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield
    finally:
        _call("returning to the own network namespace", _libc.setns(home, CLONE_NEWNET))
        os.close(home)
