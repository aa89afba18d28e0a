"""Find the system calls that guests need but that are forbidden here, for example by a container's seccomp profile."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Mapping
from types import MappingProxyType

_ADDR_NO_RANDOMIZE = 0x0040000
_GET_ACTION_AVAIL, _RET_ALLOW = 2, 0x7FFF0000  # of seccomp()
_TRIES = (  # name, number, arguments: harmless, except to the process that tries
    ("personality", 135, (_ADDR_NO_RANDOMIZE,)),
    ("ptrace", 101, (0, 0, None, None)),  # PTRACE_TRACEME
    ("seccomp", 317, (_GET_ACTION_AVAIL, 0, ctypes.byref(ctypes.c_uint32(_RET_ALLOW)))),
    ("memfd_create", 319, (b"replab", 0)),
    ("pidfd_open", 434, (1, 0)),
    ("landlock_create_ruleset", 444, (None, 0, 1)),  # LANDLOCK_CREATE_RULESET_VERSION
)
_OLD = ("personality", "ptrace", "seccomp", "memfd_create")  # since Linux 3.17 at the latest

NEEDS: Mapping[str, str] = MappingProxyType(  # what fails without the call
    {
        "personality": "guests keep the host's random addresses, which their bytes may show",
        "ptrace": "kernels up to 6.12 do not start",
        "seccomp": "guests do not start",
        "memfd_create": "guests do not start",
        "pidfd_open": "guests do not start",
        "landlock_create_ruleset": "guests are contained with seccomp alone",
    }
)


def forbidden() -> tuple[str, ...]:
    """Return the names of the calls in NEEDS that the system refuses.

    Docker's profile refuses with EPERM. podman's profile returns ENOSYS, like a kernel without the call, but every
    supported kernel has these calls.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, " ".join(_refused()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        found = tuple(answer.read().split())
    os.waitpid(child, 0)
    return found


def _refused() -> list[str]:
    libc = ctypes.CDLL(None, use_errno=True)
    return [
        name
        for name, number, arguments in _TRIES
        if libc.syscall(number, *arguments) == -1
        and ctypes.get_errno() in ((errno.EPERM, errno.ENOSYS) if name in _OLD else (errno.EPERM,))
    ]
