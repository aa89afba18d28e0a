"""Limit the files of the host process that runs a guest's kernel, with Landlock, the kernel's unprivileged sandbox.

The limits depend on the host's version of Landlock.
"""

from __future__ import annotations

import ctypes

CREATE_RULESET = 444
VERSION = 1  # LANDLOCK_CREATE_RULESET_VERSION

_RIGHTS = (  # LANDLOCK_ACCESS_FS_*, in the order of their bits, with the first version that has them
    ("EXECUTE", 1),
    ("WRITE_FILE", 1),
    ("READ_FILE", 1),
    ("READ_DIR", 1),
    ("REMOVE_DIR", 1),
    ("REMOVE_FILE", 1),
    ("MAKE_CHAR", 1),
    ("MAKE_DIR", 1),
    ("MAKE_REG", 1),
    ("MAKE_SOCK", 1),
    ("MAKE_FIFO", 1),
    ("MAKE_BLOCK", 1),
    ("MAKE_SYM", 1),
    ("REFER", 2),
    ("TRUNCATE", 3),
    ("IOCTL_DEV", 5),
)


def _bits(names: str) -> int:
    wanted = names.split()
    return sum(1 << bit for bit, (name, _) in enumerate(_RIGHTS) if name in wanted)


EXECUTE = _bits("EXECUTE")
LIST = _bits("READ_DIR")
READ = _bits("READ_FILE READ_DIR")
# Regular files and folders only: a symbolic link, for example, would lead a later reader to another file.
WRITE = READ | _bits("WRITE_FILE REMOVE_DIR REMOVE_FILE MAKE_DIR MAKE_REG REFER TRUNCATE")
OF_FILES = _bits("EXECUTE WRITE_FILE READ_FILE TRUNCATE IOCTL_DEV")  # the other rights are of folders
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6
_LACKS = {  # what a host's version cannot refuse, by the first version that can
    1: "files",
    3: "cutting files short",
    5: "ioctl() of devices",
    6: "signals to the user's other processes",
}


def abi() -> int:
    """Return the version of Landlock's interface in the running kernel; 0 if the kernel does not have Landlock."""
    version: int = ctypes.CDLL(None).syscall(CREATE_RULESET, None, 0, VERSION)
    return max(0, version)


def handled(version: int) -> int:
    """Return the bits of all file accesses that this version refuses unless a rule allows them."""
    return sum(1 << bit for bit, (_, since) in enumerate(_RIGHTS) if version >= since)


def scoped(version: int) -> tuple[int, int]:
    """Return the bits of actions that this version refuses: TCP, abstract sockets, and signals to the outside."""
    return 0b11 if version >= _NETWORK_SINCE else 0, 0b11 if version >= _SCOPES_SINCE else 0


def gaps(version: int) -> tuple[str, ...]:
    """Return the names of the actions that neither this version nor another mechanism can refuse."""
    return tuple(what for since, what in _LACKS.items() if version < since)
