"""Start a user-mode Linux as a guest."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from lab.errors import MachineError
from lab.guest.clock import Clock
from lab.machine.kernel import baseline
from lab.machine.kernel.base import HOST_MEMORY, Start
from lab.machine.kernel.containment import Containment, files_of
from lab.machine.kernel.root import Root
from lab.units import Size

# A kernel up to 6.12 forks into the guest's processes, and takes all memory below theirs away from them. That memory
# includes what its C library had registered for restartable sequences, and the host ends a process that cannot write
# there. A later kernel needs no restartable sequences either, and the host would do work for them at each hand-over.
UNREGISTERED = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
# Without these options, every namespace would have a tunnel of each kind, and the first one a bond.
NO_DEVICES = ("fb_tunnels=none", "bonding.max_bonds=0")
# The length of the root folder's path. The kernel copies the path, so another length would take other memory.
ROOT_LENGTH = 512
START = 1_750_000_000_000_000_000  # ns: the date at a guest's boot in virtual time, 2025-06-15 15:06:40 UTC


def start(
    program: Path, clock_address: int, seccomp: bool, folder: Path, seed: int, clock: Clock, memory: Size, root: Root
) -> Start:
    """Return the `Start` of the kernel `program` on `clock`.

    The kernel may write in `folder`, and read the files of `root`. Raises MachineError if the host has no room for the
    guest's memory.
    """
    place = _memory_folder(memory, folder)
    environment = UNREGISTERED
    if place == folder:  # otherwise the kernel would try the host's memory first
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

    The `hidden` options do not reach the guest's own command line. The other options reach it, and are constant. The
    kernel passes unknown options to process 1 as environment variables. These variables keep its libraries from
    choosing functions by the CPU.
    """
    if "," in str(root.tree):
        raise MachineError(f"{root.tree}: a user-mode kernel cannot have a root folder with a comma in its path")
    path = str(root.tree.absolute()).rjust(ROOT_LENGTH, "/")  # slashes at the start of a path count as one
    hidden = [f"mem={memory.bytes >> 10}K", f"seed={seed}", f"hostfs={path}", "umid=guest", "uml_dir=boot"]
    if seccomp:
        hidden.append("seccomp=on")
    virtual = ["time-travel=inf-cpu", f"time-travel-start={START}"] if clock == "virtual" else []
    same = [f"{name}={value}" for name, value in baseline.ENVIRONMENT.items()] if clock == "virtual" else []
    files = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"]
    consoles = ["con=null", "con0=null,fd:1", "con1=fd:0"]  # the kernel's log; the command's terminal, if it has one
    return (str(program), *hidden, *files, *consoles, *NO_DEVICES, *virtual, *same, f"init={root.init}")


def _memory_folder(memory: Size, folder: Path) -> Path:
    """Return the folder for the guest's memory file: in the host's memory if there is room, else next to the trial."""
    blockers = []
    for place in (HOST_MEMORY, folder):
        if (blocker := memory_blocker(place, memory)) is None:
            return place
        blockers.append(blocker)
    raise MachineError(f"no room for the guest's memory of {memory}: {'; '.join(blockers)}")


def memory_blocker(place: Path, memory: Size) -> str | None:
    """Create a test file in the folder `place`.

    Return the reason why it cannot be a guest's memory, or None if it can.
    """
    try:
        room = os.statvfs(place)
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        return f"{place} accepts no file: {error.strerror}"
    if room.f_flag & os.ST_NOEXEC:
        return f"{place} is mounted noexec"
    free = Size(room.f_bavail * room.f_frsize)
    return None if free.bytes >= memory.bytes else f"{place} has {free.bytes >> 20} MiB free"
