"""Run a command in a guest as on a machine of its own: PLACE COMMAND [ARGUMENT...]. PLACE is a new folder for it.

The command has mounts of its own, and starts in the network namespace that the guest booted with. After it has ended,
so do all processes that it started. The file is shipped with programs that run alone in a guest (see `alone`).
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

NAMED = b"/run/netns"  # where `ip netns` keeps namespaces
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
FIRST = "/proc/1/ns/net"  # some settings can be written only there, and /sys shows the interfaces that are there
ETC = Path("/etc")  # a copy can be written to
# Debian's tcpdump changes to this user. It is root by another name, as scripts have tcpdump write to root's files.
TCPDUMP = "tcpdump:x:0:0::/nonexistent:/usr/sbin/nologin\n"


def collect_orphans() -> None:
    """Become the parent of every process whose own parent has ended."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def own_mounts(place: Path) -> None:
    """Hide the lab's network namespaces from the command, and its mounts from the lab. Make the folder `place`."""
    libc = ctypes.CDLL(None, use_errno=True)
    private = libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    if private or libc.mount(b"none", NAMED, b"tmpfs", 0, None):
        sys.exit(f"the command has no mounts of its own: {os.strerror(ctypes.get_errno())}")
    settings = place / ETC.name
    shutil.copytree(ETC, settings, symlinks=True)
    with (settings / "passwd").open("a") as accounts:
        accounts.write(TCPDUMP)
    if libc.mount(bytes(settings), bytes(ETC), None, MS_BIND, None):
        sys.exit(f"the command has no settings of its own: {os.strerror(ctypes.get_errno())}")


def to_first_network() -> None:
    """Leave the lab's network namespace for the one that the guest booted with."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(FIRST, "rb") as first:
        if libc.setns(first.fileno(), CLONE_NEWNET):
            sys.exit(f"the command is not in the first network namespace: {os.strerror(ctypes.get_errno())}")


def end_children() -> None:
    """Kill the processes that the command has left behind."""
    while children := [pid for pid in processes() if parent(pid) == os.getpid()]:
        for pid in children:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def processes() -> list[int]:
    """Return every process."""
    return [int(each.name) for each in Path("/proc").glob("[0-9]*")]


def parent(pid: int) -> int | None:
    """Return a process's parent, or None if the process has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
    except OSError:
        return None


if __name__ == "__main__":
    collect_orphans()
    own_mounts(Path(sys.argv[1]))
    to_first_network()
    status = subprocess.run(sys.argv[2:]).returncode
    end_children()
    sys.exit(status)
