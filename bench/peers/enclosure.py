"""Run a peer's command in namespaces that end with it, so that nothing of it stays on the machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.peers import inside
from lab.errors import LabError
from lab.machine.kernel import Budget, boot
from lab.machine.kernel.host.running import RunningKernel


def enclosed(command: Sequence[str], folder: Path, wall: float, cpus: Sequence[int] = ()) -> tuple[str, float]:
    """Return (what the command printed, its seconds of CPU in all processes). `folder` becomes its working folder.

    The command has its own network, mounts and processes, and can write only to its folder, /tmp and /run, of which the
    last two vanish with it. It may use these CPUs; default: all. Raises LabError if it fails, or takes longer than
    `wall` seconds.
    """
    allowed = ",".join(map(str, cpus or range(os.cpu_count() or 1)))
    argv = [sys.executable, "-m", inside.__name__, "taskset", "--cpu-list", allowed, *command]
    kernel = RunningKernel(os.uname().release, "", 0)
    done = boot(kernel, folder, argv, clock="real", budget=Budget(wall=wall, stall=None))
    said = done.console.read_text(encoding="utf-8", errors="replace")
    if done.status:
        last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "no output")
        raise LabError(f"{Path(command[0]).name} ended with status {done.status}: {last[:300]}")
    return said, float((folder / inside.SECONDS).read_text())
