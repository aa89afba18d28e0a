"""Run as process 1 of a guest: set up a small machine, run one command in it, and power off.

Python runs the file directly, in isolated mode (`python -I -S`). The file imports little, and starts only the command,
because every trial waits for its guest to start. A trial runs in this process, because a second Python would touch a
thousand new pages. The guest sees the host's files read-only. Only files in /run/lab, the trial's folder, outlive the
guest.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
import sys
import termios
import time

LAB = "/run/lab"
TERMINAL = "/dev/tty1"
TRIAL = "/proc/self/cwd"  # the host's kernel resolves it: the folder in which the guest's kernel was started
SHOWN = f"{TRIAL}/boot/shown"  # likewise: leads to a folder of the host that a hands-on guest shows
ACCOUNTS = "/etc/passwd"
# Debian's tcpdump changes to this user, and ends if there is none. It is an alias of root, so tcpdump may write
# anywhere.
TCPDUMP = "tcpdump:x:0:0::/nonexistent:/usr/sbin/nologin\n"
MS_RDONLY, MS_BIND = 1, 4096
AF_INET, SOCK_DGRAM = 2, 2
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
SIGPIPE = 13
PR_SET_NAME, MCL_FUTURE = 15, 2
TRIAL_MODULE = "lab.guest.start"
PACKAGES = "/usr/lib/python3/dist-packages"
POWER_OFF = 0x4321FEDC
MOUNTS = (
    ("proc", "/proc", "proc", ""),
    ("sysfs", "/sys", "sysfs", ""),
    ("devtmpfs", "/dev", "devtmpfs", ""),
    ("devpts", "/dev/pts", "devpts", "mode=620,ptmxmode=666"),
    ("tmpfs", "/dev/shm", "tmpfs", "mode=1777"),
    ("tmpfs", "/tmp", "tmpfs", "mode=1777"),
    ("tmpfs", "/run", "tmpfs", "mode=755"),
    ("cgroup2", "/sys/fs/cgroup", "cgroup2", ""),
)
LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
SYSCTLS = {
    "kernel/hostname": "lab",
    "vm/panic_on_oom": "1",  # a trial that has lost a process is useless
    "kernel/panic_on_oops": "1",
    "net/core/netdev_max_backlog": "100000",  # a broadcast to a thousand hosts is a thousand packets at once
}

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Build the machine, run the job's command, write its exit status, and power off."""
    libc.mlockall(MCL_FUTURE)  # see lab.guest.start
    # A guest's own files have no way to the trial's folder. The host's kernel has one, and /run exists before we hide
    # it.
    mount("lab", "/run", "hostfs", 0, f"{TRIAL}/.")
    wanted = Job("/run")
    libc.umount(b"/run")
    try:
        build(wanted.keep)
        os.makedirs(LAB)
        mount("lab", LAB, "hostfs", 0, f"{TRIAL}/.")  # "/.": or /proc/mounts would show the folder's real name
        leave(run(wanted))
    finally:
        os.sync()
        libc.reboot(POWER_OFF)


class Job:
    """Holds the job that `lab.machine.kernel.guest` wrote to boot/ in the folder `trial`, as NUL-terminated strings."""

    def __init__(self, trial: str) -> None:
        place = f"{trial}/boot"
        self.command = _strings(f"{place}/cmdline")
        self.environment = {
            name: value for name, _, value in (each.partition("=") for each in _strings(f"{place}/environ"))
        }
        self.keep = _strings(f"{place}/keep")  # folders of the host that a fresh /tmp or /run must not hide
        self.terminal = os.path.exists(f"{place}/terminal")


def _strings(file: str) -> list[str]:
    with open(file, "rb") as plain:
        return [os.fsdecode(each) for each in plain.read().split(b"\0")[:-1]]


def build(keep: list[str]) -> None:
    """Mount all file systems except the trial's folder. The host folders in `keep` stay visible."""
    held = {folder: os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in keep}
    for source, target, kind, options in MOUNTS:
        if target.startswith(("/dev/", "/run/")):
            os.makedirs(target, exist_ok=True)
        mount(source, target, kind, 0, options)
    for folder, fd in held.items():
        os.makedirs(folder, exist_ok=True)
        mount(f"/proc/self/fd/{fd}", folder, "", MS_BIND, "")
        os.close(fd)
    os.makedirs("/run/netns")
    os.makedirs("/run/lock")
    for name, target in LINKS.items():
        os.symlink(target, f"/dev/{name}")
    for name, value in SYSCTLS.items():
        with open(f"/proc/sys/{name}", "w", encoding="ascii") as file:
            file.write(value)
    loopback_up()
    _plain_console()
    _add_account()


def _add_account() -> None:
    """Add the user tcpdump to the guest's /etc/passwd if that user is missing, so that tcpdump runs without options."""
    with open(ACCOUNTS, encoding="utf-8") as file:
        accounts = file.read()
    if any(line.startswith("tcpdump:") for line in accounts.splitlines()):
        return
    with open("/run/passwd", "w", encoding="utf-8") as file:
        file.write(accounts + TCPDUMP)
    mount("/run/passwd", ACCOUNTS, "", MS_BIND, "")


def mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    """Mount `source` on `target`. Raises OSError with the target's name if the kernel refuses."""
    if libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode()):
        errno = ctypes.get_errno()
        raise OSError(errno, f"cannot mount {kind or source}: {os.strerror(errno)}", target)


def loopback_up() -> None:
    """Bring up `lo` in this network namespace."""
    any_socket = libc.socket(AF_INET, SOCK_DGRAM, 0)
    name, flags = struct.unpack("16sh", fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sh", b"lo", 0)))
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", name, flags | IFF_UP))
    os.close(any_socket)


def _plain_console() -> None:
    """Keep carriage returns out of the console's log."""
    mode = termios.tcgetattr(1)
    mode[1] &= ~termios.OPOST
    termios.tcsetattr(1, termios.TCSANOW, mode)


def run(job: Job) -> int:
    """Run the command and return its exit status as a shell would (128 + N for signal N). Reap orphans in the meantime.

    On a terminal, the command gets its own session, so that Ctrl-C reaches its programs.
    """
    os.chdir(LAB)
    streams: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    ]
    if job.terminal:
        streams = [(os.POSIX_SPAWN_OPEN, 0, TERMINAL, os.O_RDWR, 0), *((os.POSIX_SPAWN_DUP2, 0, fd) for fd in (1, 2))]
    command = job.command
    os.environ.clear()
    os.environ.update(job.environment)
    if command[:3] == [sys.executable, "-m", TRIAL_MODULE] and job.environment["PYTHONPATH"] in sys.path[0]:
        return _perform(command[3], job.environment["PYTHONPATH"])
    try:
        child = os.posix_spawnp(
            command[0], command, job.environment, file_actions=streams, setsid=job.terminal, setsigdef=[SIGPIPE]
        )
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        return 127
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _perform(folder: str, search: str) -> int:
    """Perform the trial in `folder` in this process, and return its exit status. `search` is the folder of the lab.

    To its programs, everything looks as if the trial were the first process that this one starts.
    """
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    try:  # noqa: SIM105  # contextlib is a large module
        os.posix_spawn("/", ["/"], {})  # a folder cannot run, but the attempt uses up one process number
    except OSError:
        pass
    libc.prctl(PR_SET_NAME, os.path.basename(sys.executable).encode())
    time.tzset()
    sys.path[:] = [search, *sys.path[1:], PACKAGES]
    try:
        __import__("sitecustomize")  # finds the other modules: see lab.guest.packed
        from lab.guest import start

        return start.main(folder)
    except BaseException:  # noqa: BLE001  # the kernel would panic at the end of process 1
        import traceback

        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def leave(status: int, place: str = LAB, error: int = 0) -> None:
    """Write `place`/boot/status, after all data written to `place` has reached the host's disk cache.

    The file holds the command's exit status and an errno: `error` if it is set, else the errno of a failed write, else
    0.
    """
    folder = os.open(place, os.O_RDONLY)
    error = error or (ctypes.get_errno() if libc.syncfs(folder) else 0)
    end = f'{{"status": {status}, "guest_ns": {time.monotonic_ns()}, "error": {error}}}'
    with open(f"{place}/boot/status", "r+b", buffering=0) as file:  # overwritten in place: even a full disk has room
        file.write(end.encode())


if __name__ == "__main__":
    main()
