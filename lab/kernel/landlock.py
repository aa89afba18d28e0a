"""Say what files the host's process of a guest's kernel may use, in the terms of Landlock, the kernel's unprivileged
sandbox, as far as the host's version of it goes.
"""

from __future__ import annotations

import ctypes
from enum import IntFlag

__all__ = ["EXECUTE", "LIST", "OF_FILES", "READ", "WRITE", "Access", "abi", "gaps", "handled", "scoped"]

CREATE_RULESET = 444
VERSION = 1  # LANDLOCK_CREATE_RULESET_VERSION


class Access(IntFlag):
    """LANDLOCK_ACCESS_FS_*, in the kernel's order."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


EXECUTE = Access.EXECUTE
LIST = Access.READ_DIR
READ = Access.READ_FILE | Access.READ_DIR
# Regular files and folders only: a symbolic link, say, would lead whoever reads the folder later to another file.
WRITE = (
    READ
    | Access.WRITE_FILE
    | Access.REMOVE_DIR
    | Access.REMOVE_FILE
    | Access.MAKE_DIR
    | Access.MAKE_REG
    | Access.REFER
    | Access.TRUNCATE
)
OF_FILES = EXECUTE | Access.WRITE_FILE | Access.READ_FILE | Access.TRUNCATE | Access.IOCTL_DEV  # not of folders
_SINCE = {Access.REFER: 2, Access.TRUNCATE: 3, Access.IOCTL_DEV: 5}  # the others: 1
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6
_LACKS = {  # what a host's version cannot refuse, by the first one that can
    1: "files",
    3: "cutting files short",
    5: "ioctl() of devices",
    6: "signals to the user's other processes",
}


def abi() -> int:
    """Return the version of Landlock's interface that the running kernel offers; 0 where it has none."""
    version: int = ctypes.CDLL(None).syscall(CREATE_RULESET, None, 0, VERSION)
    return max(0, version)


def handled(version: int) -> int:
    """Return the bits of all accesses to files that this version refuses unless a rule allows them."""
    return sum(access for access in Access if version >= _SINCE.get(access, 1))


def scoped(version: int) -> tuple[int, int]:
    """Return the bits of what is refused outright: TCP's bind and connect; abstract sockets and signals outside."""
    return 0b11 if version >= _NETWORK_SINCE else 0, 0b11 if version >= _SCOPES_SINCE else 0


def gaps(version: int) -> tuple[str, ...]:
    """Name what this version cannot refuse and nothing else does."""
    return tuple(what for since, what in _LACKS.items() if version < since)
