"""Compile libraries that QEMU loads, such as the one that keeps the host's scheduler and date out (see steady.c)."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from lab.base.building import UNFINISHED, Silent, alone
from lab.base.moving import move
from lab.errors import MachineError

SOURCE = Path(__file__).with_name("steady.c")
FLAGS = ("-O2", "-shared", "-fPIC")
CURE = "sudo apt-get install gcc libc6-dev"


@cache
def library(home: Path, source: Path = SOURCE) -> Path:
    """Return the library from a C source, in `home`. Compile the library if it is missing.

    Raises MachineError without a C compiler, or if programs cannot load the library from there. The error names the
    fix.
    """
    if set(str(home)) & set(" :"):
        raise MachineError(f"{home}: a library's path cannot have a space or a colon; set XDG_CACHE_HOME")
    target = home / f"{source.stem}-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}.so"
    try:
        if not target.exists():
            with alone(home, Silent()):
                _compile(source, target)
    except OSError as error:
        raise MachineError(f"cannot make a library for QEMU in {home} ({error.strerror}); set XDG_CACHE_HOME") from None
    try:
        ctypes.CDLL(str(target))  # otherwise QEMU would go on without it, and report that only on its console
    except OSError as error:
        raise MachineError(f"{error}; set XDG_CACHE_HOME to a file system that allows programs") from None
    return target


def _compile(source: Path, target: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        raise MachineError(f"virtual time on QEMU needs a C compiler: {CURE}")
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=target.parent) as scratch:
        made = Path(scratch, target.name)
        done = subprocess.run(
            [compiler, *FLAGS, "-o", str(made), str(source), "-ldl"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            raise MachineError(f"{source.name} does not compile, {done.stderr.strip()}: {CURE}")
        move(made, target)
