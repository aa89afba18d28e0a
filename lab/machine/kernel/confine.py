"""Permanently drop a process's rights before it runs an untrusted program.

`lab.machine.kernel.supervise` uses this module for a guest's kernel. Run as a script, the module confines a compiler:

    confine.py ORDERS PROGRAM [ARGUMENT...]

The script imports only the standard library. ORDERS is JSON from the module `containment` or `compilers` in this
package.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Mapping, Sequence
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_SECUREBITS, SECBIT_NOROOT = 28, 1
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
CAPSET, SECCOMP, MOUNT_SETATTR = 126, 317, 442  # numbers of system calls, as are the next three
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
CAPABILITY_VERSION_3 = 0x20080522
CAP_DAC_OVERRIDE = 1  # root's right to the files of others, within Landlock's limits
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MOUNT_ATTR_RDONLY, AT_FDCWD, AT_RECURSIVE = 1, -100, 0x8000

_libc = ctypes.CDLL(None, use_errno=True)


def confine(orders: Mapping[str, Any], opened: Sequence[tuple[int, int]] = ()) -> None:
    """Confine this process and all its children. `opened` holds open descriptors with their remaining Landlock rights.

    Raises OSError if the kernel refuses.
    """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit fails with EFBIG, and the program goes on
    for name, limit in orders["limits"].items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
    if writable := orders.get("apart"):
        _apart(writable)
    _done(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if landlock := orders["landlock"]:
        handled = struct.pack("=QQQ", *landlock["handled"])
        while not any(handled[-8:]):  # an older kernel's structure is shorter
            handled = handled[:-8]
        rules = _done(_libc.syscall(LANDLOCK_CREATE_RULESET, handled, len(handled), 0))
        granted = [(os.open(path, os.O_PATH | os.O_CLOEXEC), access) for path, access in landlock["rules"]]
        for handle, access in (*granted, *opened):
            _done(_libc.syscall(LANDLOCK_ADD_RULE, rules, 1, struct.pack("=Qi", access, handle), 0))
        _done(_libc.syscall(LANDLOCK_RESTRICT_SELF, rules, 0))
    if os.geteuid() == 0:
        _done(_libc.prctl(PR_SET_SECUREBITS, SECBIT_NOROOT, 0, 0, 0))  # or root regains its rights at its next program
    kept = 1 << CAP_DAC_OVERRIDE if os.geteuid() == 0 else 0
    header, sets = struct.pack("=Ii", CAPABILITY_VERSION_3, 0), struct.pack("=6I", kept, kept, kept, 0, 0, 0)
    _done(_libc.syscall(CAPSET, header, sets))
    if kept:
        _done(_libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0))
    code = base64.b64decode(orders["filter"])
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("=H6xQ", len(code) // 8, ctypes.addressof(buffer))
    _done(_libc.syscall(SECCOMP, 1, 0, program))


def main(arguments: Sequence[str]) -> None:
    """Confine this process, make it end with its parent, and replace it with the program in `arguments`."""
    parent = os.getppid()
    try:
        _done(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
        if os.getppid() != parent:
            os._exit(1)
        confine(json.loads(arguments[0]))
        os.execvp(arguments[1], list(arguments[1:]))
    except OSError as error:
        sys.exit(f"error: {arguments[1]} does not start: {error.strerror}")


def _apart(writable: Sequence[str]) -> None:
    """Give this process its own network and shared memory, and make all files outside `writable` read-only.

    A read-only mount protects modes, owners and dates, which Landlock does not cover.
    """
    user, group = os.geteuid(), os.getegid()
    _done(_libc.unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET | (CLONE_NEWUSER if user else 0)))
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    here = os.getcwd()
    _done(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
    for folder in writable:
        _done(_libc.mount(os.fsencode(folder), os.fsencode(folder), None, MS_BIND, None))
    _attributes("/", MOUNT_ATTR_RDONLY, 0, AT_RECURSIVE)
    for folder in writable:
        _attributes(folder, 0, MOUNT_ATTR_RDONLY, 0)
    os.chdir(here)  # through the new mounts


def _attributes(path: str, added: int, removed: int, flags: int) -> None:
    changes = struct.pack("=4Q", added, removed, 0, 0)
    _done(_libc.syscall(MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), flags, changes, len(changes)))


def _done(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"it cannot be confined: {os.strerror(ctypes.get_errno())}")
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
