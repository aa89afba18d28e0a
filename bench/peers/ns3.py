"""Run a transfer in ns-3, Debian's package: a program of ours, compiled against it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from bench.peers.peer import Peer
from bench.peers.transfer import Transfer
from lab.errors import LabError

SOURCE = Path(__file__).with_name("ns3.cc")
MODULES = ("applications", "internet", "point-to-point", "network", "core")


def command(transfer: Transfer, folder: Path) -> list[str]:
    """Return the command of the program, which is compiled once beside the folder. Raises LabError."""
    program = folder.parent / "ns3"
    if not program.exists():
        flags = _output(["pkg-config", "--cflags", "--libs", *(f"ns3-{module}" for module in MODULES)]).split()
        _output(["g++", "-O2", str(SOURCE), "-o", str(program), *flags])
    return [str(program.resolve()), *map(str, (transfer.gigabits, transfer.seconds, transfer.delay_ms))]


def version() -> str | None:
    """Return the version of ns-3, or None if it or the compiler is missing."""
    if not (shutil.which("g++") and shutil.which("pkg-config")):
        return None
    try:
        return _output(["pkg-config", "--modversion", "ns3-core"]).strip()
    except LabError:
        return None


def _output(argv: list[str]) -> str:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise LabError(f"{argv[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


NS3 = Peer(
    "ns-3",
    root=False,
    install="sudo apt-get install g++ libns3-dev libgsl-dev pkg-config",
    version=version,
    command=command,
    remark="its own TCP, with CUBIC; its links count no preamble, FCS and gap",
)
