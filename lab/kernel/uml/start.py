"""Start a user-mode Linux as a guest."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from lab.errors import MachineError
from lab.kernel import baseline
from lab.kernel.base import HOST_MEMORY, Start
from lab.kernel.containment import Containment, files_of
from lab.kernel.root import Root
from lab.spec.clock import Clock
from lab.units import Size

# A kernel up to 6.12 forks into the guest's processes, and takes all memory below theirs from them. With it goes what
# its own C library had registered for restartable sequences, and the host ends a process when it cannot write there.
UNREGISTERED = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
START = 1_750_000_000_000_000_000  # ns: the date at a guest's boot in virtual time, 2025-06-15 15:06:40 UTC


def start(
    program: Path, clock_address: int, seccomp: bool, folder: Path, seed: int, clock: Clock, memory: Size, root: Root
) -> Start:
    """Say how the kernel `program` starts on `clock`. It may write in `folder`, and read the files of `root`.

    Raises MachineError when the host lacks room for its memory.
    """
    place = _memory_folder(memory, folder)
    environment = {} if seccomp else UNREGISTERED
    if place == folder:  # the kernel would try the host's memory first
        environment = {**environment, "TMPDIR": str(folder.absolute())}
    return Start(
        command=_command_line(program, seccomp, seed, clock, memory, root),
        containment=Containment(program, files_of(program, root), (folder,), ptrace=not seccomp),
        memory=None if place == folder else place,
        clock=clock_address if clock == "virtual" else None,
        environment=environment,
    )


def _command_line(program: Path, seccomp: bool, seed: int, clock: Clock, memory: Size, root: Root) -> tuple[str, ...]:
    """Return the command that starts the kernel.

    What is `hidden` does not reach the guest's own command line; the rest does, and is constant. Of that, what is no
    option of the kernel becomes the environment of process 1, which chooses its functions by the CPU as well.
    """
    if "," in str(root.tree):
        raise MachineError(f"{root.tree}: a user-mode kernel takes no root folder with a comma in its path")
    hidden = [f"mem={memory.bytes >> 10}K", f"seed={seed}", f"hostfs={root.tree}", "umid=guest", "uml_dir=boot"]
    if seccomp:
        hidden.append("seccomp=on")
    virtual = ["time-travel=inf-cpu", f"time-travel-start={START}"] if clock == "virtual" else []
    same = [f"{name}={value}" for name, value in baseline.ENVIRONMENT.items()] if clock == "virtual" else []
    files = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"]
    consoles = ["con=null", "con0=null,fd:1", "con1=fd:0"]  # the kernel's log; the command's terminal, where it has one
    return (str(program), *hidden, *files, *consoles, *virtual, *same, f"init={root.init}")


def _memory_folder(memory: Size, folder: Path) -> Path:
    """Return where the guest's memory lives: in the host's memory if that has the room, else next to the trial."""
    for place in (HOST_MEMORY, folder):
        with contextlib.suppress(OSError):
            room = os.statvfs(place)
            if room.f_bavail * room.f_frsize >= memory.bytes and not room.f_flag & os.ST_NOEXEC:
                return place
    raise MachineError(f"no room for the guest's memory of {memory}, neither in /dev/shm nor in {folder}")
