"""Make the plugin that counts a guest's instructions in QEMU (count.c explains how)."""

from __future__ import annotations

import hashlib
import subprocess
from functools import cache
from pathlib import Path

from lab.errors import MachineError
from lab.machine.kernel.vm import qemu
from lab.machine.kernel.vm.init import LOADED
from lab.machine.kernel.vm.preload import library

__all__ = ["OUTPUT", "SOURCE", "arguments", "check", "digest"]

SOURCE = Path(__file__).with_name("count.c")
OUTPUT = "instructions.txt"  # in the trial's out/
# The kernel's function that opens /proc/stat. A counted trial with the probe CpuTime opens the file four times: the
# probe and `lab.guest.saturation` do so before and after the workload. The second and the last but one enclose the
# workload alone. The workload's own programs may open the file in between.
MARK, FIRST = "stat_open", 2
NEWER = 9  # the first major version of QEMU with a different plugin interface


def arguments(home: Path, symbols: Path) -> tuple[str, str]:
    """Return QEMU's arguments that load the plugin from the cache folder `home`.

    `symbols` is a file from `lab.ext.cost.symbols`. Raises MachineError without a C compiler, and for a QEMU whose
    plugins are different or missing.
    """
    check()
    given = {
        "file": library(home, SOURCE),
        "symbols": symbols,
        "mark": MARK,
        "from": FIRST,
        "out": f"out/{OUTPUT}",  # QEMU runs in the trial's folder
        "modules": LOADED,
    }
    return "-plugin", ",".join(f"{name}={str(value).replace(',', ',,')}" for name, value in given.items())


@cache
def check() -> None:
    """Check that QEMU can load the plugin. Raises MachineError."""
    version = qemu.version()
    if int(version.partition(".")[0]) >= NEWER:
        raise MachineError(
            f"QEMU {version} has a different plugin interface; `lab cost` needs a version before {NEWER}.0"
        )
    told = subprocess.run([qemu.program(), "-help"], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    if "-plugin " not in told:
        raise MachineError(f"QEMU {version} was built without plugins, but `lab cost` needs them; use Debian's QEMU")


@cache
def digest() -> str:
    """Return the hash of the plugin's source, which is part of a counted trial's kernel."""
    return hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
