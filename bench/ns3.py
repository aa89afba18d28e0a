"""Time the same transfers in ns-3, Debian's package: a program of ours, compiled against it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from bench.trials import TRIALS, cpu
from lab.errors import LabError, MachineError

SOURCE = Path(__file__).with_name("bulk.cc")
MODULES = ("applications", "internet", "point-to-point", "network", "core")
RATES = {"bulk-1g": "1Gbps", "bulk-10g": "10Gbps"}  # by the trial that is the same transfer
FILLED = 0.85  # of the link's rate that a transfer has to reach, or it is not the same


def time(scratch: Path) -> dict[str, list[float]]:
    """Return seconds of CPU, by what was transferred; one run each, of minutes. Raises MachineError, LabError."""
    program = _compiled(scratch)
    timed = {trial.name: trial for trial in TRIALS}
    return {timed[name].title: [_run(program, rate, timed[name].seconds)] for name, rate in RATES.items()}


def _compiled(scratch: Path) -> Path:
    if not shutil.which("g++") or (not Path("/usr/include/ns3").exists() and not _packaged()):
        raise MachineError(
            "the comparison with ns-3 needs it: sudo apt-get install g++ libns3-dev libgsl-dev pkg-config"
        )
    program = scratch / "bulk"
    flags = _output(["pkg-config", "--cflags", "--libs", *(f"ns3-{module}" for module in MODULES)]).split()
    _output(["g++", "-O2", str(SOURCE), "-o", str(program), *flags])
    return program


def _packaged() -> bool:
    """Return whether pkg-config knows ns-3, as where Debian's files are in a folder of their own."""
    return bool(shutil.which("pkg-config")) and not subprocess.run(["pkg-config", "--exists", "ns3-core"]).returncode


def _run(program: Path, rate: str, seconds: float) -> float:
    before = cpu()
    received = int(_output([str(program), rate, str(seconds)]))
    used = cpu() - before
    filled = 8 * received / seconds / (1e9 * float(rate.removesuffix("Gbps")))
    if filled < FILLED:
        raise LabError(f"ns-3 filled {100 * filled:.0f} % of {rate}: that is not the same transfer")
    return used


def _output(argv: list[str]) -> str:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise LabError(f"{argv[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout
