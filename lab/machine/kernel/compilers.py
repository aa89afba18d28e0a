"""Confine compilers and the programs that builds execute, because C sources, patches and trees may be untrusted.

A confined process can read the locked compiler, the system's programs and libraries, and Python's own files. The
process can write only in named folders, has no network, and has limits on time, memory and file length
(docs/security.md).
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.errors import MachineError
from lab.machine.kernel import confine, landlock, seccomp
from lab.machine.userland.cache import Userland
from lab.units import Duration, Size

# The compiler's launchers are scripts for the machine's shell, and precompiled.py runs with its Python.
_SYSTEM = ("/bin", "/usr/bin", "/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64")
_LISTS = ("/etc/ld.so.cache", "/dev/zero", "/dev/urandom")
_DISCARDED = "/dev/null"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits the resources of each process of a build and the time of the whole build."""

    cpu: Duration
    wall: Duration
    memory: Size
    file: Size

    def plain(self) -> dict[str, int]:
        """Return the limits with setrlimit's names."""
        seconds = self.cpu.ns // 10**9
        return {"CPU": seconds, "AS": self.memory.bytes, "FSIZE": self.file.bytes, "CORE": 0}


# An experiment's C source takes a second. A kernel's longest process, the linker, takes some ten seconds and 1 GiB.
PROGRAM = Limits(Duration.of("60 s"), Duration.of("600 s"), Size.of("4 GiB"), Size.of("1 GiB"))
KERNEL = Limits(Duration.of("3600 s"), Duration.of("43200 s"), Size.of("16 GiB"), Size.of("8 GiB"))


def confined(
    compiler: Userland | None,
    writable: Sequence[Path],
    readable: Sequence[Path] = (),
    *,
    limits: Limits,
    runs_code: bool,
) -> list[str]:
    """Return a command that confines the command appended to it, as far as the host supports this.

    With `runs_code`, programs in the writable folders may also run, in addition to the programs of the compiler and the
    system.
    """
    version = landlock.abi()
    places = [str(each.absolute()) for each in writable]
    allowed = _landlock(version, compiler, writable, readable, runs_code) if version else None
    return _command(allowed, limits.plain(), places if runs_code and _stands_apart() else [])


def need_confinement(what: str, runs_code: bool) -> None:
    """Raise MachineError if the foreign code `what` cannot be confined."""
    if not landlock.abi():
        lacking = "Landlock (Linux 5.13)"
    elif runs_code and not _stands_apart():
        lacking = "private namespaces (user namespaces, or root's right to mount)"
    else:
        return
    raise MachineError(
        f"{what} is not compiled: this machine has no {lacking}, which keeps foreign code inside; --trust compiles it "
        "with all that you may do"
    )


def _command(allowed: Mapping[str, object] | None, limits: Mapping[str, int], apart: Sequence[str]) -> list[str]:
    """Return the command that runs `confine` with these orders."""
    calls = base64.b64encode(seccomp.program(seccomp.calls_of_builds())).decode()
    orders = {"landlock": allowed, "filter": calls, "limits": limits, "apart": apart}
    return [sys.executable, "-I", "-S", "-B", confine.__file__, json.dumps(orders)]


def _landlock(
    version: int, compiler: Userland | None, writable: Sequence[Path], readable: Sequence[Path], runs_code: bool
) -> dict[str, object]:
    network, scopes = landlock.scoped(version)
    run = landlock.READ | landlock.EXECUTE
    own = landlock.WRITE | (landlock.EXECUTE if runs_code else 0)
    python = (sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), os.path.realpath(sys.executable))
    wanted = [
        *((Path(each), run) for each in dict.fromkeys((*_SYSTEM, *python))),
        *([(compiler.tree, run)] if compiler else []),
        *((Path(each), landlock.READ) for each in _LISTS),
        *((each, landlock.READ) for each in (Path(confine.__file__).parent, *readable)),
        *((each, own) for each in writable),
        (Path(_DISCARDED), landlock.WRITE),
    ]
    handled = landlock.handled(version)
    rules = [
        [str(path.absolute()), access & handled & (~0 if path.is_dir() else landlock.OF_FILES)]
        for path, access in wanted
        if path.exists()
    ]
    return {"handled": [handled, network, scopes], "rules": rules}


@cache
def _stands_apart() -> bool:
    """Return whether a process can have its own mounts and its own network here, after a test."""
    with tempfile.TemporaryDirectory(prefix="replab-apart-") as folder:
        command = [*_command(None, {}, [folder]), "true"]
        return not subprocess.run(command, cwd=folder, capture_output=True).returncode
