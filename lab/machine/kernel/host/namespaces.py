"""Build a small machine from namespaces of the running kernel, and run the job in boot/ in it.

Start the module with `python -m`, in the trial's folder, as root or as a user who may create user namespaces. Optional
arguments (such as `sudo -n ...`) are a command that does the work instead.

The machine consists of new mount, network, PID, UTS and IPC namespaces. The kernel removes the namespaces when their
first process exits, and PR_SET_PDEATHSIG ends that process when this process ends. A privileged process behind sudo
cannot use PR_SET_PDEATHSIG, so it watches a pipe that this process keeps open. The trial can write only to its own
folder on the host, and only to the sysctls of its own network namespaces.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from lab.guest.init import LAB, MS_BIND, Job, leave, libc, loopback_up, mount, run

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
SYS_MOUNT_SETATTR = 442  # the same on every architecture
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 1
MOUNTS = (
    ("proc", "/proc", "proc", ""),
    ("sysfs", "/sys", "sysfs", ""),
    ("devpts", "/dev/pts", "devpts", "newinstance,mode=620,ptmxmode=666"),
    ("tmpfs", "/dev/shm", "tmpfs", "mode=1777"),
    ("tmpfs", "/tmp", "tmpfs", "mode=1777"),
    ("tmpfs", "/run", "tmpfs", "mode=755"),
)


def main(become: Sequence[str]) -> int:
    """Run the job, and return the exit status. `become` is a command that runs the job as another user, or ()."""
    try:
        return _behind(become) if become else _alone()
    except OSError as error:
        _say(error)
        return 127


def _say(error: OSError) -> None:
    """Write an error to the trial's console."""
    sys.stderr.write(f"{error.strerror}{f': {error.filename}' if error.filename else ''}\n")


def _behind(become: Sequence[str]) -> int:
    """Run the command with a pipe as its standard input.

    The other end of the pipe closes when this process ends for any reason.
    """
    theirs, ours = os.pipe()
    child = os.posix_spawnp(become[0], list(become), os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 0)])
    os.close(theirs)
    _, status = os.waitpid(child, 0)
    os.close(ours)
    return os.waitstatus_to_exitcode(status)


def _alone() -> int:
    job = Job(".")
    _leave_the_host()
    lifeline, ours = os.pipe()
    init = os.fork()
    if not init:
        os.close(ours)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if select.select([lifeline], [], [], 0)[0]:  # its parent has ended already, before it could be told
            os._exit(1)
        _first_process(job)
    status = _watch(init)
    if os.WIFSIGNALED(status):  # so that a watcher of this process learns how the other one ended
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {os.WTERMSIG(status)})
        os.kill(os.getpid(), os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


def _watch(init: int) -> int:
    """Return the wait status of the first process. Kill the process if standard input is a pipe whose other end
    closes.
    """
    ended = os.pidfd_open(init)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        poll.register(0, select.POLLHUP)
    if ended not in {fd for fd, _ in poll.poll()}:
        os.kill(init, signal.SIGKILL)
    return os.waitpid(init, 0)[1]


def _leave_the_host() -> None:
    """Create new namespaces for the next child. Raises OSError, which names the action that the system forbids."""
    user, group = os.geteuid(), os.getegid()
    if user:
        _unshare(CLONE_NEWUSER, "no user namespace")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC, "no namespaces")


def _unshare(flags: int, blocker: str) -> None:
    if libc.unshare(flags):
        error = ctypes.get_errno()
        raise OSError(error, f"{blocker} for this user: {os.strerror(error)}")


def _first_process(job: Job) -> NoReturn:
    status = 1
    try:
        _build(job.keep)
        leave(run(job))
        _give_back()
        status = 0
    except OSError as error:
        _say(error)
    finally:
        os._exit(status)


def _build(keep: list[str]) -> None:
    """Mount as `lab.guest.init` does: private /tmp, /run, /proc and /sys, and the trial's folder on /run/lab."""
    mount("none", "/", "", MS_REC | MS_PRIVATE, "")
    held = {folder: os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in keep}
    trial = os.open(".", os.O_PATH | os.O_DIRECTORY)
    _read_only("/", True, AT_RECURSIVE)
    for source, target, kind, options in MOUNTS:
        mount(source, target, kind, 0, options)
    for folder, fd in held.items():
        os.makedirs(folder, exist_ok=True)
        mount(f"/proc/self/fd/{fd}", folder, "", MS_BIND, "")
        os.close(fd)
    for folder in (LAB, "/run/netns", "/run/lock"):
        os.makedirs(folder)
    mount(f"/proc/self/fd/{trial}", LAB, "", MS_BIND, "")
    _read_only(LAB, False)
    os.close(trial)
    mount("/proc/sys", "/proc/sys", "", MS_BIND, "")
    _read_only("/proc/sys", True)
    mount("/proc/sys/net", "/proc/sys/net", "", MS_BIND, "")
    _read_only("/proc/sys/net", False)
    libc.sethostname(b"lab", 3)
    loopback_up()


class _MountAttributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns"))


def _read_only(target: str, on: bool, flags: int = 0) -> None:
    """Make the mount at `target` read-only, or make it writable again."""
    attributes = _MountAttributes(*((MOUNT_ATTR_RDONLY, 0) if on else (0, MOUNT_ATTR_RDONLY)))
    where = (ctypes.c_int(AT_FDCWD), target.encode(), ctypes.c_uint(flags))
    if libc.syscall(SYS_MOUNT_SETATTR, *where, ctypes.byref(attributes), ctypes.sizeof(attributes)):
        error = ctypes.get_errno()
        raise OSError(error, f"cannot protect {target} (this needs Linux 5.12 or newer): {os.strerror(error)}")


def _give_back() -> None:
    """Give the files that root created in a user's folder to that user.

    In a user namespace, the user already owns these files.
    """
    owner = os.stat(LAB)
    if not owner.st_uid:
        return
    for folder, _, files in os.walk(LAB):
        for name in (folder, *(f"{folder}/{file}" for file in files)):
            os.chown(name, owner.st_uid, owner.st_gid, follow_symlinks=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
