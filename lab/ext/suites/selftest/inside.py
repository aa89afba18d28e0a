"""Run one of the kernel's selftests in a guest: ARCHIVE TEST SECONDS. Its output goes to standard output.

Leaves status.json: the exit status, null when the time was up. As with the kernel's own runner the test starts in its
own folder, with no input, in the machine's first network namespace.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path

PLACE = Path("/tmp/selftests")
NAMED = b"/run/netns"  # where `ip netns` keeps namespaces
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
FIRST = "/proc/1/ns/net"  # some settings can be written there alone, and /sys shows the interfaces that are there
ACCOUNTS = Path("/etc/passwd")
# Debian's tcpdump changes to this user. It is root by another name, as scripts have tcpdump write to root's files.
TCPDUMP = "tcpdump:x:0:0::/nonexistent:/usr/sbin/nologin\n"


def own_mounts() -> None:
    """Leave the guest's own network namespaces out of the test's sight, and its mounts out of the guest's."""
    libc = ctypes.CDLL(None, use_errno=True)
    private = libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    if private or libc.mount(b"none", NAMED, b"tmpfs", 0, None):
        sys.exit(f"the test has no mounts of its own: {os.strerror(ctypes.get_errno())}")
    accounts = PLACE / ACCOUNTS.name
    PLACE.mkdir()
    accounts.write_text(ACCOUNTS.read_text() + TCPDUMP)
    if libc.mount(bytes(accounts), bytes(ACCOUNTS), None, MS_BIND, None):
        sys.exit(f"the test has no accounts of its own: {os.strerror(ctypes.get_errno())}")


def to_first_network() -> None:
    """Leave the lab's network namespace for the one that the guest booted with."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(FIRST, "rb") as first:
        if libc.setns(first.fileno(), CLONE_NEWNET):
            sys.exit(f"the test is not in the first network namespace: {os.strerror(ctypes.get_errno())}")


def run(archive: str, test: str, seconds: float) -> int | None:
    """Return the exit status; None when the test did not end in its time."""
    with tarfile.open(archive) as tar:
        tar.extractall(PLACE, filter="data")
    file = PLACE / test
    environment = {**os.environ, "PATH": f"{PLACE / 'bin'}:{os.environ['PATH']}", "HOME": "/tmp"}
    process = subprocess.Popen(
        [f"./{file.name}"],
        cwd=file.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    handle = os.pidfd_open(process.pid)
    ended = bool(select.select([handle], [], [], seconds)[0])
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    return status if ended else None


def end_children() -> None:
    """Kill the processes that the test has left behind."""
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
    """Return a process's parent; None when the process is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
    except OSError:
        return None


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # what a test leaves behind becomes ours
    own_mounts()
    to_first_network()
    found = run(sys.argv[1], sys.argv[2], float(sys.argv[3]))
    end_children()
    Path("status.json").write_text(json.dumps({"status": found}) + "\n")
