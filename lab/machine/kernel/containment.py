"""Limit the host process that runs a guest's kernel to the rights that it needs; docs/security.md gives the reasons.

This module decides the limits. `lab.machine.kernel.supervise` applies them in the process before it executes the
kernel.
"""

from __future__ import annotations

import base64
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.machine.kernel import landlock, seccomp
from lab.machine.kernel.root import PACKAGE, Root
from lab.units import Size

LAB = PACKAGE / "lab"
LOADER = Path("/lib64/ld-linux-x86-64.so.2")  # of a kernel that is linked dynamically
DEVICES = (Path("/dev/null"),)
PRIVATE = Size.of("256 MiB")  # data of the kernel's process, without the guest's memory; it takes some 20 MiB

# The parts of /etc that a distribution's programs need. Not all of it: a lab that runs as root could read passwords.
_ETC = """
alternatives bash.bashrc default/locale ethertypes gai.conf group host.conf hosts inputrc iproute2 ld.so.cache
ld.so.conf ld.so.conf.d locale.alias localtime magic mime.types netconfig networks nsswitch.conf os-release passwd
profile protocols python3 python3.11 python3.12 python3.13 python3.14 rpc services shells ssl/openssl.cnf terminfo
timezone wireshark xtables
"""
_TOP = "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt"


@dataclass(frozen=True, slots=True)
class Containment:
    """Describes the files and calls that a kernel's process may use. A folder includes all its contents."""

    program: Path  # the kernel: only it and its loader may be run
    readable: tuple[Path, ...]
    writable: tuple[Path, ...]  # regular files and folders
    ptrace: bool = False  # whether it runs the guest's processes with ptrace()

    def plain(self, abi: int, memory: Size, disk: Size) -> dict[str, Any]:
        """Return the supervisor's orders, for a host with this version of Landlock.

        `memory` is the guest's memory, and `disk` is the maximum amount that the guest may write.
        """
        return {
            "how": _describe(abi),
            "landlock": self._landlock(abi) if abi else None,
            "filter": base64.b64encode(seccomp.program(seccomp.calls(self.ptrace))).decode(),
            "limits": {"FSIZE": max(disk.bytes, memory.bytes), "DATA": PRIVATE.bytes},  # its memory is a file, too
        }

    def _landlock(self, abi: int) -> dict[str, Any]:
        network, scopes = landlock.scoped(abi)
        wanted = [
            *((path, landlock.EXECUTE | landlock.READ) for path in (self.program, LOADER)),
            *((path, landlock.READ) for path in self.readable),
            (PACKAGE, landlock.LIST),  # Python looks for `lab` there
            *((path, landlock.WRITE) for path in (*self.writable, *DEVICES)),
        ]
        handled = landlock.handled(abi)
        rules = [
            [str(path), access & handled & (landlock.WRITE | landlock.EXECUTE if path.is_dir() else landlock.OF_FILES)]
            for path, access in wanted
            if path.exists()
        ]
        return {"handled": [handled, network, scopes], "rules": rules, "memory": landlock.WRITE & handled}


def _describe(abi: int) -> str:
    """Return a short description of how guests are contained on a host with this version of Landlock."""
    gaps = landlock.gaps(abi)
    by = f"by Landlock {abi} and seccomp" if abi else "by seccomp alone"
    return f"{by}, except for {' and '.join(gaps)}" if gaps else by


def files_of(program: Path, root: Root) -> tuple[Path, ...]:
    """Return the host files that a guest of the kernel `program` with this root must read."""
    beside = tuple(filter(None, (root.code, root.shown)))
    if root.tree == Path("/"):
        return (*host_programs(), *beside)
    return (root.tree, *beside, *_libraries(program))


def _libraries(program: Path) -> tuple[Path, ...]:
    """Return the paths of a kernel's libraries.

    Only dynamically linked kernels, from older lab versions, have libraries.
    """
    with program.open("rb") as file:
        dynamic = str(LOADER).encode() in file.read(4096)
    return tuple(map(Path, ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"))) if dynamic else ()


def host_programs() -> tuple[Path, ...]:
    """Return the files and folders that a guest needs to run the host's programs and the lab."""
    names = (*_TOP.split(), *(f"/etc/{name}" for name in _ETC.split()), sys.prefix, sys.base_prefix)
    return (*(Path(name) for name in dict.fromkeys(names)), LAB, PACKAGE / "topologies")
