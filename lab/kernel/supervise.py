"""Start one guest, confined, watch it, end it and report how it ended. Run as a script; standard library only.

It is a process of its own because the kernel's "die with my parent" (PR_SET_PDEATHSIG) means the *thread* that forked,
and a runner has many. This process has one thread, so the guest dies with it; and it ends when its parent does, however
that died. Nothing is left then: the guest's processes die with the guest, and the scratch folder is removed, as is a
folder that its parent would have removed itself.

It reads one line of JSON (a job) from standard input, and takes the end of that input as the order to stop. It writes
one line of JSON (a report) to standard output.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import math
import os
import resource
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

TICK = 200  # milliseconds between two looks at the guest
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_SECUREBITS, SECBIT_NOROOT = 28, 1
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
CAPSET, SECCOMP = 126, 317  # numbers of system calls, as are the next three
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
CAPABILITY_VERSION_3 = 0x20080522
CAP_DAC_OVERRIDE = 1  # root's right to files of others, as far as Landlock leaves any
ADDR_NO_RANDOMIZE = 0x0040000
SLOWEST = 1e-3  # guest time per CPU time; a bulk transfer over a link without a rate, which does progress, ran at 0.04
ALARM = 1.0  # seconds of CPU without virtual time passing, after which a process is asked whether it spins
LOOKS = 30  # one after the other, six seconds on an idle machine, at which a guest waits for nobody
STATUS = 256  # bytes of it
FILE = 4096  # bytes that a file takes at least
WALL = 0x40000000  # __WALL: wait for clones of any kind


class Watch:
    """Tell a guest that works from one that hangs. Times are in seconds; None as a budget means no limit.

    A guest hangs when `stall` seconds of host CPU advance its clock by less than a thousandth of that. The clock need
    not stand still: where only processes that spin can make time pass, it passes slowly.
    """

    def __init__(self, wall: float | None, stall: float | None, guest: float | None) -> None:
        self.wall, self.stall, self.guest = wall, stall, guest
        self.mark = -math.inf  # the clock when it last advanced, and the CPU wasted since
        self.burnt = self.cpu = 0.0

    def judge(self, wall: float, cpu: float, clock: int | None) -> str | None:
        """Return the budget that is spent, "livelock", "guest" or "wall", or None.

        `wall` is the time since the start, `cpu` the host CPU that the guest has used, and `clock` the guest's
        nanoseconds since its boot, None when unknown: a guest whose clock cannot be seen never livelocks.
        """
        self.burnt += max(0.0, cpu - self.cpu)  # `cpu` shrinks when a process ends: its time goes with it
        self.cpu = cpu
        if self.stall is not None and clock is not None:
            if clock - self.mark >= self.stall * SLOWEST * 1e9:
                self.mark, self.burnt = clock, 0.0
            elif self.burnt > self.stall:
                return "livelock"
        if self.guest is not None and clock is not None and clock > self.guest * 1e9:
            return "guest"
        if self.wall is not None and wall > self.wall:
            return "wall"
        return None


class Alarms:
    """Ask a guest's processes whether they spin, by one SIGALRM per second of CPU while virtual time stands still.

    A process that only looks at memory gives its kernel no chance to notice. The signal only hands the CPU to the
    kernel, which counts how many came without a system call in between, and lets time pass after some of them.
    """

    def __init__(self) -> None:
        self.clock: int | None = None
        self.since: dict[int, float] = {}  # each process's CPU when time last moved, or when it was last asked

    def due(self, clock: int | None, cpu: dict[int, float]) -> list[int]:
        """Return the processes to ask, given the guest's clock and the CPU seconds of each process."""
        if clock is None or clock != self.clock:
            self.clock, self.since = clock, cpu
            return []
        asked = [pid for pid, seconds in cpu.items() if seconds - self.since.setdefault(pid, seconds) >= ALARM]
        self.since |= {pid: cpu[pid] for pid in asked}
        return asked


class Rest:
    """Notice a guest in virtual time that waits for ever: that of a process which the host has killed, say.

    Where nobody has anything to do, virtual time passes at once: nothing in such a guest waits for long. Who is given
    no CPU is ready to run ("R"), who waits for a disk sleeps uninterruptibly ("D"), and a kernel that is stopped ("T",
    "t") is somebody's affair (proc(5)). So looks count, and no clock of a machine that may be busy, or asleep itself.
    """

    def __init__(self) -> None:
        self.seen: tuple[int, float] | None = None  # the clock and the CPU seconds at the last look
        self.looks = 0

    def for_ever(self, clock: int | None, cpu: float, states: Sequence[str]) -> bool:
        """Decide so, given the guest's clock, its CPU seconds, and the states of its processes, its kernel's first.

        A guest whose clock cannot be seen is never taken for one.
        """
        seen = None if clock is None else (clock, cpu)
        rests = seen is not None and seen == self.seen and states[0] not in ("T", "t") and not {"R", "D"} & {*states}
        self.looks, self.seen = self.looks + 1 if rests else 0, seen
        return self.looks >= LOOKS


class Abandoned(Exception):
    """This process was told to stop."""


def main() -> None:
    """Read one job from standard input and write one report to standard output."""
    parent = os.getppid()
    job: dict[str, Any] = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGTERM, _abandon)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    start = time.monotonic()
    reason, guest, status, clock = "abandoned", 0, 0, None
    try:
        with _restored(job["terminal"]):
            try:
                guest = _spawn(job, libc)
                reason, clock = _watch(job, guest, parent, start)
            finally:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                if guest:
                    status = _end(guest)
    except Abandoned:
        pass
    finally:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = {
            "reason": reason,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            "clock": clock,
            "wall": time.monotonic() - start,
            "cpu": usage.ru_utime + usage.ru_stime,
            "status": _status(job["scratch"]),
        }
        _remove(job["scratch"])
        if job["temporary"] and os.getppid() != parent:
            _remove(job["folder"])
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(report).encode() + b"\n")


def _abandon(_number: int, _frame: object) -> NoReturn:
    raise Abandoned


@contextlib.contextmanager
def _restored(terminal: str | None) -> Iterator[None]:
    """Put the terminal back as it was: a guest makes it raw, and one that is killed leaves it so."""
    if terminal is None:
        yield
        return
    handle = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    mode = termios.tcgetattr(handle)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):  # its window is closed
            termios.tcsetattr(handle, termios.TCSADRAIN, mode)
        os.close(handle)


def _spawn(job: dict[str, Any], libc: ctypes.CDLL) -> int:
    supervisor = os.getpid()
    guest = os.fork()
    if guest:
        return guest
    try:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setsid()  # a panicking guest signals its whole process group
        os.sched_setaffinity(0, {job["cpu"]})
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.chdir(job["folder"])
        # Opened anew: the guest makes it non-blocking, which others who have it open must not see.
        os.dup2(os.open(job["terminal"] or os.devnull, os.O_RDWR | os.O_NOCTTY), 0)
        console = os.open(job["console"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(console, 1)
        os.dup2(console, 2)
        environment, memory = job["environment"], None
        if job["memory"]:
            memory = _nameless(job["memory"])
            environment = {**environment, "TMPDIR": f"/proc/self/fd/{memory}"}
        program = job["command"][0]
        if job["containment"]:
            program = os.open(program, os.O_PATH | os.O_CLOEXEC)  # afterwards only what is open can be run
            libc.personality(ADDR_NO_RANDOMIZE)  # the kernel does it, too, but then runs itself again
            _confine(job["containment"], memory, libc)
        os.execve(program, job["command"], environment)
    except OSError as error:
        os.write(2, f"the guest's kernel does not start: {error}\n".encode())
    finally:
        os._exit(127)


def _nameless(beginning: str) -> int:
    """Open a new folder, whose path begins so, that is gone already: only a nameless file can be made in it."""
    folder = beginning + os.urandom(8).hex()
    os.mkdir(folder, 0o700)
    try:
        handle = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    finally:
        os.rmdir(folder)
    os.set_inheritable(handle, True)
    return handle


def _confine(containment: dict[str, Any], memory: int | None, libc: ctypes.CDLL) -> None:
    """Take from this process for good all that `lab.kernel.containment` did not leave it. Raises OSError."""

    def done(result: int) -> int:
        if result < 0:
            raise OSError(ctypes.get_errno(), f"it cannot be confined: {os.strerror(ctypes.get_errno())}")
        return result

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the guest gets EFBIG and lives on
    for name, limit in containment["limits"].items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
    done(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if landlock := containment["landlock"]:
        handled = struct.pack("=QQQ", *landlock["handled"])
        while not any(handled[-8:]):  # an older kernel's structure is shorter
            handled = handled[:-8]
        rules = done(libc.syscall(LANDLOCK_CREATE_RULESET, handled, len(handled), 0))
        granted = [(os.open(path, os.O_PATH | os.O_CLOEXEC), access) for path, access in landlock["rules"]]
        if memory is not None:
            granted.append((memory, landlock["memory"]))
        for handle, access in granted:
            done(libc.syscall(LANDLOCK_ADD_RULE, rules, 1, struct.pack("=Qi", access, handle), 0))
        done(libc.syscall(LANDLOCK_RESTRICT_SELF, rules, 0))
    if os.geteuid() == 0:
        done(libc.prctl(PR_SET_SECUREBITS, SECBIT_NOROOT, 0, 0, 0))  # or root gets all back when it runs a program
    kept = 1 << CAP_DAC_OVERRIDE if os.geteuid() == 0 else 0
    header, sets = struct.pack("=Ii", CAPABILITY_VERSION_3, 0), struct.pack("=6I", kept, kept, kept, 0, 0, 0)
    done(libc.syscall(CAPSET, header, sets))
    if kept:
        done(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0))
    code = base64.b64decode(containment["filter"])
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("=H6xQ", len(code) // 8, ctypes.addressof(buffer))
    done(libc.syscall(SECCOMP, 1, 0, program))


def _watch(job: dict[str, Any], guest: int, parent: int, start: float) -> tuple[str, int | None]:
    """Return why the guest has to end, or "exit" when it ended by itself; and its clock as last seen."""
    watch = Watch(*(job["budget"][name] for name in ("wall", "stall", "guest")))
    alarms, rest = Alarms(), Rest()
    ended = os.pidfd_open(guest)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(0, select.POLLIN | select.POLLHUP)
    clock = None
    while True:
        ready = {fd for fd, _ in poll.poll(TICK)}
        if ended in ready:
            return "exit", clock
        if 0 in ready or os.getppid() != parent:
            return "abandoned", clock
        clock = _clock(guest, job["clock"])
        stats = {pid: _stat(pid) for pid in [guest, *_children(guest)]}
        cpu = {pid: seconds for pid, (_, seconds) in stats.items()}
        verdict = watch.judge(time.monotonic() - start, sum(cpu.values()), clock)
        states = [state for state, _ in stats.values()]
        if not verdict and job["alone"] and rest.for_ever(clock, sum(cpu.values()), states):
            verdict = "deadlock"
        verdict = verdict or _excess(job, len(cpu))
        if verdict:
            return verdict, clock
        for pid in alarms.due(clock, {pid: seconds for pid, seconds in cpu.items() if pid != guest}):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGALRM)


def _excess(job: dict[str, Any], processes: int) -> str | None:
    """Return "disk" or "processes" when the guest has more of them than its budget allows, else None."""
    if processes > job["budget"]["processes"]:
        return "processes"
    size, folders = 0, [job["folder"]]
    while folders and size <= job["budget"]["disk"]:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    size += max(FILE, entry.stat(follow_symlinks=False).st_blocks * 512)
    return "disk" if size > job["budget"]["disk"] else None


def _clock(guest: int, address: int | None) -> int | None:
    """Read the guest's virtual nanoseconds since its boot from its kernel's memory: this costs the guest nothing.

    Return None when they cannot be read.
    """
    if address is None:
        return None
    try:
        with open(f"/proc/{guest}/mem", "rb", buffering=0) as memory:
            return int.from_bytes(os.pread(memory.fileno(), 8, address), "little")
    except OSError:  # not started yet, or gone
        return None


def _stat(pid: int) -> tuple[str, float]:
    """Return a process's state, and the seconds of host CPU that it and the children it reaped used; "", 0 if gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
        return fields[0].decode(), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return "", 0.0


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children += map(int, file.read().split())
    return children


def _end(guest: int) -> int:
    """Kill what is left of the guest and return its wait status. Its orphans come to us, the nearest subreaper."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(guest, signal.SIGKILL)
    _, status = os.waitpid(guest, 0)
    while True:
        for child in _children(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            os.waitpid(-1, WALL)
        except ChildProcessError:
            return status


def _status(scratch: str) -> Any:
    """Return what the guest's init left, or None when it never finished, or something else wrote there."""
    try:
        with open(f"{scratch}/status", "rb") as file:
            end = json.loads(file.read(STATUS))
        return {name: int(end[name]) for name in ("status", "guest_ns", "error")}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _remove(scratch: str) -> None:
    """Remove what there is below `scratch`; what a failing disk keeps is left to who started the guest."""
    if os.path.islink(scratch):  # a guest that is not contained can have put it there
        os.unlink(scratch)
        return
    for folder, folders, files in os.walk(scratch, topdown=False):
        links = [name for name in folders if os.path.islink(f"{folder}/{name}")]
        for name in [*files, *links]:
            with contextlib.suppress(OSError):
                os.unlink(f"{folder}/{name}")
        with contextlib.suppress(OSError):
            os.rmdir(folder)


if __name__ == "__main__":
    main()
