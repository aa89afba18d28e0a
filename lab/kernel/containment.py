"""Say what the host's process of a guest's kernel may do on the host. All else is refused; docs/security.md says why.

This decides; `lab.kernel.supervise` carries it out in the process that becomes the kernel, before it does.
"""

from __future__ import annotations

import base64
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.kernel import landlock, seccomp
from lab.kernel.root import PACKAGE, Root
from lab.units import Size

__all__ = ["Containment", "files_of", "host_programs"]

LAB = PACKAGE / "lab"
LOADER = Path("/lib64/ld-linux-x86-64.so.2")  # of a kernel that is linked dynamically
DEVICES = (Path("/dev/null"),)
PRIVATE = Size.of("256 MiB")  # data of the kernel's process besides the guest's memory; it takes some 20 MiB

# What programs of a distribution need of /etc. Not all of it: a lab run by root could read the passwords.
_ETC = """
alternatives bash.bashrc default/locale ethertypes gai.conf group host.conf hosts inputrc iproute2 ld.so.cache
ld.so.conf ld.so.conf.d locale.alias localtime magic mime.types netconfig networks nsswitch.conf os-release passwd
profile protocols python3 python3.11 python3.12 python3.13 python3.14 rpc services shells ssl/openssl.cnf terminfo
timezone wireshark xtables
"""
_TOP = "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt"


@dataclass(frozen=True, slots=True)
class Containment:
    """Say what a kernel's process may use. Folders count with all that is in them."""

    program: Path  # the kernel; it alone may be run, and its loader
    readable: tuple[Path, ...]
    writable: tuple[Path, ...]  # regular files and folders
    ptrace: bool = False  # it runs the guest's processes by ptrace()

    def plain(self, abi: int, memory: Size, disk: Size) -> dict[str, Any]:
        """Return the orders for the supervisor, on a host with this version of Landlock.

        `memory` is the guest's, `disk` what it may write.
        """
        return {
            "how": describe(abi),
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


def describe(abi: int) -> str:
    """Say in a few words how guests are contained on a host with this version of Landlock."""
    gaps = landlock.gaps(abi)
    by = f"by Landlock {abi} and seccomp" if abi else "by seccomp alone"
    return f"{by}, except for {' and '.join(gaps)}" if gaps else by


def files_of(root: Root) -> tuple[Path, ...]:
    """Return what a guest with that root has to read of the host."""
    if root.tree == Path("/"):
        return host_programs()
    return (root.tree, root.code) if root.code else (root.tree,)


def host_programs() -> tuple[Path, ...]:
    """Return the files and folders that a guest needs whose programs are the host's own, and the lab's code."""
    names = (*_TOP.split(), *(f"/etc/{name}" for name in _ETC.split()), sys.prefix, sys.base_prefix)
    return (*(Path(name) for name in dict.fromkeys(names)), LAB)
