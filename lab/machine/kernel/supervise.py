"""Start one guest, confine it, watch it, end it, and report how it ended. This script uses only the standard library.

The script is a separate process because the kernel's "die with my parent" (PR_SET_PDEATHSIG) means the *thread* that
forked, and a runner has many threads. This process has one thread, so the guest dies with it. The process ends when its
parent ends for any reason, and cleans up: the guest's processes die with the guest, and this process removes the
scratch folder, and a folder that its parent would have removed.

The script reads one line of JSON (a job) from standard input, and stops at the end of that input. The script writes one
line of JSON (a report) to standard output.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import resource
import select
import signal
import sys
import termios
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

if __name__ == "__main__":
    sys.path.append(
        os.path.dirname(__file__).removesuffix("/lab/machine/kernel")
    )  # Python does not search a script's own folder (-I)

from lab.base import foreign
from lab.machine.kernel.confine import confine
from lab.machine.kernel.looks import Looks

TICK = 200  # milliseconds between two looks at the guest
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
ADDR_NO_RANDOMIZE = 0x0040000
SLOWEST = 1e-3  # guest time per CPU time; a bulk transfer over a link without a rate, which does progress, ran at 0.04
ALARM = 1.0  # seconds of CPU without virtual time, after which a process is asked whether it spins
LOOKS = 30  # consecutive looks at which a guest waits for nothing: six seconds on an idle machine
STATUS = 256  # bytes of the status file
WALL = 0x40000000  # __WALL: wait for clones of any kind


class Watch:
    """Distinguishes a guest that works from a guest that hangs. Times are in seconds; None as a budget means no limit.

    A guest hangs if `stall` seconds of host CPU advance its clock by less than a thousandth of this time. The clock
    need not stop, because spinning processes advance it slowly.
    """

    def __init__(self, wall: float | None, stall: float | None, guest: float | None) -> None:
        self.wall, self.stall, self.guest = wall, stall, guest
        self.mark = -math.inf  # the clock when it last advanced, and the CPU used since
        self.burnt = self.cpu = 0.0

    def judge(self, wall: float, cpu: float, clock: int | None) -> str | None:
        """Return the reason to end the guest ("livelock", or the spent budget "guest" or "wall"), or None.

        `wall` is the time since the start, `cpu` the host CPU that the guest has used, and `clock` the guest's
        nanoseconds since its boot. If `clock` is None (unknown), the guest never livelocks.
        """
        self.burnt += max(0.0, cpu - self.cpu)  # `cpu` shrinks when a process ends, because its time goes with it
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
    """Finds the guest's processes to probe for spinning, with one SIGALRM per second of CPU while virtual time stops.

    A process that only reads memory gives its kernel no chance to notice that it spins. The signal passes the CPU to
    the kernel. The kernel counts the signals without a system call in between, and lets time pass after several
    signals.
    """

    def __init__(self) -> None:
        self.clock: int | None = None
        self.since: dict[int, float] = {}  # each process's CPU when time last moved, or when it was last asked

    def due(self, clock: int | None, cpu: dict[int, float]) -> list[int]:
        """Return the processes to probe, given the guest's clock and the CPU seconds of each process."""
        if clock is None or clock != self.clock:
            self.clock, self.since = clock, cpu
            return []
        asked = [pid for pid, seconds in cpu.items() if seconds - self.since.setdefault(pid, seconds) >= ALARM]
        self.since |= {pid: cpu[pid] for pid in asked}
        return asked


class Rest:
    """Detects a virtual-time guest that waits forever, for example for a process that the host has killed.

    In a working guest, virtual time jumps to the next timer as soon as no process can run. So no process waits for long
    in real time, and a guest whose clock and CPU time both stand still is stuck. A process without a CPU is ready to
    run ("R"), a process that waits for a disk sleeps uninterruptibly ("D"), and a stopped kernel ("T", "t") was stopped
    by a user (proc(5)). This class counts observations, and does not use the host's clock, because the host may be busy
    or asleep.
    """

    def __init__(self) -> None:
        self.seen: tuple[int, float] | None = None  # the clock and the CPU seconds at the last look
        self.looks = 0

    def for_ever(self, clock: int | None, cpu: float, states: Sequence[str]) -> bool:
        """Return whether the guest waits forever, given its clock, its CPU seconds, and its processes' states, kernel
        first.

        A guest whose clock cannot be read never counts as waiting forever.
        """
        seen = None if clock is None else (clock, cpu)
        rests = seen is not None and seen == self.seen and states[0] not in ("T", "t") and not {"R", "D"} & {*states}
        self.looks, self.seen = self.looks + 1 if rests else 0, seen
        return self.looks >= LOOKS


class Abandoned(Exception):
    """Raised if this process received a request to stop."""


def main() -> None:
    """Read one job from standard input and write one report to standard output."""
    parent = os.getppid()
    job: dict[str, Any] = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGTERM, _abandon)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    start = time.monotonic()
    reason, guest, status, clock, busiest = "abandoned", 0, 0, None, ""
    host = Looks(job["cpu"]) if job["looks"] else None
    try:
        with _restored(job["terminal"]):
            try:
                guest = _spawn(job, libc)
                reason, clock, busiest = _watch(job, guest, parent, start, host)
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
            "busiest": busiest,
            "wall": time.monotonic() - start,
            "cpu": usage.ru_utime + usage.ru_stime,
            "status": _status(job["scratch"]),
            "looks": host.noted if host else None,
        }
        foreign.remove(job["scratch"])
        if job["temporary"] and os.getppid() != parent:
            foreign.remove(job["folder"])
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(report).encode() + b"\n")


def _abandon(_number: int, _frame: object) -> NoReturn:
    raise Abandoned


@contextlib.contextmanager
def _restored(terminal: str | None) -> Iterator[None]:
    """Restore the terminal at the end of this context.

    A guest makes the terminal raw, and a killed guest does not restore it.
    """
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
        os.setsid()  # a guest that panics signals its whole process group
        os.sched_setaffinity(0, {job["cpu"]})
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.chdir(job["folder"])
        # Opened anew, because the guest makes it non-blocking, and others who have it open must not be affected.
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
            program = os.open(program, os.O_PATH | os.O_CLOEXEC)  # afterwards only open programs can be run
            libc.personality(ADDR_NO_RANDOMIZE)  # the kernel does this, too, but then runs itself again
            opened = [] if memory is None else [(memory, (job["containment"]["landlock"] or {}).get("memory", 0))]
            confine(job["containment"], opened)
        os.execve(program, job["command"], environment)
    except OSError as error:  # `lab.machine.kernel.guest` looks for the start of this line
        where = job["command"][0] if isinstance(error.filename, int) else error.filename
        os.write(2, f"the guest's kernel does not start: {f'{where}: ' if where else ''}{error.strerror}\n".encode())
    finally:
        os._exit(127)


def _nameless(beginning: str) -> int:
    """Open a new folder whose path has this prefix, and remove the folder.

    After that, only unnamed files (O_TMPFILE) can be created in the folder.
    """
    folder = beginning + os.urandom(8).hex()
    os.mkdir(folder, 0o700)
    try:
        handle = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    finally:
        os.rmdir(folder)
    os.set_inheritable(handle, True)
    return handle


def _watch(
    job: dict[str, Any], guest: int, parent: int, start: float, host: Looks | None
) -> tuple[str, int | None, str]:
    """Return why the guest must end ("exit" if it ended by itself), its clock's last value, and the busy process."""
    watch = Watch(*(job["budget"][name] for name in ("wall", "stall", "guest")))
    alarms, rest = Alarms(), Rest()
    ended = os.pidfd_open(guest)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(0, select.POLLIN | select.POLLHUP)
    clock, looks = None, deque[dict[int, float]](maxlen=LOOKS)
    if host:
        host.look({guest: _stat(guest)})  # the trial may begin before the first tick
    while True:
        ready = {fd for fd, _ in poll.poll(TICK)}
        stats = {pid: _stat(pid) for pid in [guest, *_children(guest)]}  # also ended ones, not reaped yet
        if host:
            host.look(stats)
        if ended in ready:  # it may have written much since the last look
            return _excess(job, 0) or "exit", clock, ""
        if 0 in ready or os.getppid() != parent:
            return "abandoned", clock, ""
        clock = _clock(guest, job["clock"])
        cpu = {pid: seconds for pid, (_, seconds) in stats.items()}
        looks.append(cpu)
        verdict = watch.judge(time.monotonic() - start, sum(cpu.values()), clock)
        states = [state for state, _ in stats.values()]
        if not verdict and job["alone"] and rest.for_ever(clock, sum(cpu.values()), states):
            verdict = "deadlock"
        if verdict := verdict or _excess(job, len(cpu)):
            lately = {pid: cpu[pid] - looks[0].get(pid, 0.0) for pid in cpu if pid != guest}
            busiest = max(lately, key=lately.__getitem__, default=guest)
            is_busy = len(looks) == LOOKS and lately.get(busiest, 0.0) > 0.1  # seconds of the last six
            return verdict, clock, _program(busiest) if is_busy else ""
        for pid in alarms.due(clock, {pid: seconds for pid, seconds in cpu.items() if pid != guest}):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGALRM)


def _excess(job: dict[str, Any], processes: int) -> str | None:
    """Return "processes" or "disk" if the guest exceeds its budget, "folder: WHAT" if no record can hold its files, or
    None.
    """
    if processes > job["budget"]["processes"]:
        return "processes"
    bounds = foreign.FileBounds(size=job["budget"]["disk"])
    try:
        for _ in foreign.walk(job["folder"], bounds):
            pass
    except foreign.TooLarge:
        return "disk"
    except foreign.Unfit as error:
        return f"folder: {error}"
    except OSError:
        return "folder: an unreadable folder"
    return None


def _clock(guest: int, address: int | None) -> int | None:
    """Read the guest's virtual nanoseconds since boot from its kernel's memory, at no cost for the guest.

    Return None if the memory cannot be read.
    """
    if address is None:
        return None
    try:
        with open(f"/proc/{guest}/mem", "rb", buffering=0) as memory:
            return int.from_bytes(os.pread(memory.fileno(), 8, address), "little")
    except OSError:  # it has not started yet, or is gone
        return None


def _stat(pid: int) -> tuple[str, float]:
    """Return a process's state, and the CPU seconds of the process and its reaped children; "", 0 if it has ended."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
        return fields[0].decode(), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return "", 0.0


def _program(pid: int) -> str:
    """Return the program name of a guest process (its stack ends with the path); "" if the name cannot be read."""
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        end = int([line for line in maps if " rwxs " in line][-1].split()[0].partition("-")[2], 16)
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            path = os.pread(memory.fileno(), 256, end - 256).rstrip(b"\0").rpartition(b"\0")[2]
        return "".join(filter(str.isprintable, os.path.basename(path).decode("ascii", "ignore")))
    return ""


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                children += map(int, file.read().split())
    return children


def _end(guest: int) -> int:
    """Kill the guest's remaining processes, and return the guest's wait status.

    The guest's orphans become children of this process, the nearest subreaper.
    """
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
    """Return the status from the guest's init, or None if init never finished or another program wrote the file."""
    try:
        with open(f"{scratch}/status", "rb") as file:
            end = json.loads(file.read(STATUS))
        return {name: int(end[name]) for name in ("status", "guest_ns", "error")}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


if __name__ == "__main__":
    main()
