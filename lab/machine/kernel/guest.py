"""Boot a kernel under test for one command, watch the guest, and return how the command ended.

The guest's kernel command line never contains a path, and the host does not feed the guest's random number generator.
So a given kernel, command and seed give the same bytes in any folder and for any user.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab.base import foreign
from lab.base.moving import make
from lab.base.owner import owner
from lab.errors import InputError, LabError, MachineError
from lab.guest.clock import Clock
from lab.machine.kernel import baseline, landlock
from lab.machine.kernel.base import Kernel
from lab.machine.kernel.peers import Seat
from lab.machine.kernel.root import PACKAGE, Root, of_host
from lab.units import Size

HERE = Path(__file__).parent
SCRATCH_PREFIX = "replab"  # begins the names of folders for guests that leave no record
NO_START = "the guest's kernel does not start: "  # the start of the console's log then: `supervise.py` writes it
CONSOLE_BYTES = 1 << 20  # the part of a console's log, at its end, that is read
HIDDEN = ("/tmp", "/run", "/dev")  # a guest has its own
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "PYTHONDONTWRITEBYTECODE": "1",
}


@contextlib.contextmanager
def scratch_guest_folder() -> Iterator[Path]:
    """Yield a folder for a guest without a record, and remove the folder afterwards.

    After a crash, `lab store clean` removes it.
    """
    with tempfile.TemporaryDirectory(prefix=f"{SCRATCH_PREFIX}~{owner()}~") as folder:
        yield Path(folder)


class GuestError(LabError):
    """Raised if the guest failed before its command finished.

    `console` is the log's path. Code that moves the log updates the path. Code that is about to remove the log calls
    `quote`.
    """

    def __init__(self, message: str, console: Path) -> None:
        super().__init__(message)
        self.console = console
        self._quoted: str | None = None

    def __str__(self) -> str:
        if self._quoted is None:
            return f"{self.args[0]}; its console is in {self.console}"
        return f"{self.args[0]}; its last line: {self._quoted}" if self._quoted else str(self.args[0])

    def quote(self) -> Self:
        """Replace the log's path with the last line of the console in this error's message. Return this error."""
        lines = foreign.end(self.console, CONSOLE_BYTES).split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        self._quoted = "" if last in self.args[0] else last
        return self


class GuestLivelock(GuestError):
    """Raised if the guest used CPU time but its virtual clock did not advance."""


class GuestDeadlock(GuestError):
    """Raised if the guest waits forever, because no process in it can end the wait."""


class GuestCrash(GuestError):
    """Raised if the guest's kernel panicked, was killed by a signal, or stopped without a message."""


class GuestMemory(GuestError):
    """Raised if the guest ran out of memory."""


class GuestTimeout(GuestError):
    """Raised if the guest used up its budget of wall-clock or guest time."""


class GuestDisk(GuestError, MachineError):
    """Raised if some of the guest's files could not be written to the guest's folder."""

    exit_code = MachineError.exit_code


class GuestFolder(GuestError):
    """Raised if the guest left files that no record can hold: too deep, too many, or with impossible names."""


class GuestHost(GuestError, MachineError):
    """Raised if the host failed: it did not start the guest's kernel, killed the guest, or failed a read with EIO."""

    exit_code = MachineError.exit_code


class GuestEnded(GuestError):
    """Raised if the guest was ended on request."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits a guest, in seconds; None means no limit."""

    wall: float | None = 900.0  # since the guest's start
    stall: float | None = 60.0  # of host CPU used while its virtual time hardly moves; computing takes no virtual time
    guest: float | None = None  # of virtual time since its boot
    disk: Size = Size(16 << 30)  # the files in its folder
    processes: int = 10_000  # of the host: one for each process of the guest


@dataclass(frozen=True, slots=True)
class GuestResult:
    """Describes how the command in a guest ended and the times that it took. Times are in seconds."""

    status: int  # exit status; 128 + signal if killed, 127 if there is no such command
    console: Path
    wall_seconds: float
    cpu_seconds: float
    guest_seconds: float
    contained: str = ""  # how it was contained; "" if it was not
    looks: Sequence[Mapping[str, Any]] | None = None  # in real time: its CPU's work, from `looks.Looks`


class Guest:
    """Runs one command in a guest. The guest ends with the context; `end` may be called from any thread.

    The command runs as the guest's root in /run/lab, which is `folder` on the host. Only files written there outlive
    the guest. The command sees the files of `root`, read-only, and its own /tmp, /run and /dev. Its output goes to
    `folder`/console.log.

    With a `terminal`, the command reads and writes the terminal instead. The terminal is raw until the guest has ended
    for any reason, and is then restored.

    Raises InputError if the folder does not exist, and MachineError if the host has no room for the guest's memory.
    """

    def __init__(
        self,
        kernel: Kernel,
        folder: Path,
        command: Sequence[str],
        *,
        seed: int = 1,
        clock: Clock = "virtual",
        memory: Size = Size(512 << 20),  # of the guest
        cpu: int | None = None,  # the guest's CPU on the host; None: one that this process may use
        budget: Budget = Budget(),
        environment: Mapping[str, str] | None = None,
        terminal: str | None = None,  # path of the command's terminal
        temporary: bool = False,  # remove the folder even if we are killed
        root: Root | None = None,  # the files that it sees; None: the host's files
        seat: Seat | None = None,  # for guests that share a clock; their kernel must be built for that
    ) -> None:
        if not 0 <= seed < 1 << 64:
            raise InputError(f"seed {seed} does not fit 64 bits")
        self.folder = Path(folder).resolve()
        if not self.folder.is_dir():
            raise InputError(f"the guest's folder {self.folder} does not exist")
        self.console = self.folder / "console.log"
        self.memory, self.budget, self.contained = memory, budget, ""
        scratch = self.folder / "boot"
        root = root or of_host()
        try:
            # real time must show the CPU's work
            same = baseline.ENVIRONMENT if (kernel.on, clock) == ("uml", "virtual") else {}
            seen = {**ENVIRONMENT, "PYTHONPATH": root.search, **same, **(environment or {})}
            _write_boot(scratch, command, seen, terminal is not None, root)
            self.console.write_bytes(b"")
            start = kernel.start(self.folder, seed, clock, memory, root)
        except OSError as error:
            foreign.remove(scratch)
            raise MachineError(f"cannot prepare a guest in {self.folder}: {error.strerror}") from None
        except LabError:
            foreign.remove(scratch)
            raise
        containment = start.containment and start.containment.plain(landlock.abi(), memory, budget.disk)
        if containment:
            self.contained = containment["how"]
        program, *options = start.command
        if seat is not None:
            options.insert(0, f"peers={seat.memory}:{seat.number}")
        job = {
            "command": [program, *options],
            "environment": {"PATH": ENVIRONMENT["PATH"], **start.environment},
            "memory": None if start.memory is None else str(start.memory / f"{SCRATCH_PREFIX}~{owner()}~"),
            "containment": containment,
            "folder": str(self.folder),
            "console": str(self.console),
            "scratch": str(scratch),
            "cpu": _cpu() if cpu is None else cpu,
            "clock": start.clock,
            "budget": {**asdict(budget), "disk": budget.disk.bytes},
            "terminal": terminal,
            "temporary": temporary,
            "looks": clock == "real",
            "alone": terminal is None and seat is None,  # no process outside can send it anything
        }
        self._supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", str(HERE / "supervise.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=() if seat is None else (seat.memory,),
            start_new_session=True,  # Ctrl-C on the terminal is for this process only
        )
        assert self._supervisor.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # already killed: `wait` reports it
            self._supervisor.stdin.write(json.dumps(job).encode() + b"\n")
            self._supervisor.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        self._supervisor.wait()
        for stream in (self._supervisor.stdout, self._supervisor.stderr):
            if stream is not None:
                stream.close()
        foreign.remove(self.folder / "boot")  # only a killed supervisor leaves this

    def end(self) -> None:
        """End the guest if it still runs. `wait` then raises GuestEnded."""
        if self._supervisor.stdin is not None:
            with contextlib.suppress(OSError):
                self._supervisor.stdin.close()

    def wait(self) -> GuestResult:
        """Wait for the guest's command to end and return its result.

        Raises a GuestError if the command does not end normally.
        """
        assert self._supervisor.stdout is not None
        line = self._supervisor.stdout.readline()
        if not line:
            raise GuestHost(f"the guest's supervisor {self._failed()}, and the guest with it", self.console)
        report: dict[str, Any] = json.loads(line)
        if report["reason"] == "exit" and report["status"] is not None:
            return self._result(report)
        raise self._error(report)

    def _failed(self) -> str:
        """Return how the supervisor ended without a report: "failed" with its last error line, or "was killed"."""
        assert self._supervisor.stderr is not None
        self._supervisor.wait()
        said = self._supervisor.stderr.read().decode(errors="replace").split("\n")
        last = next((line for line in reversed(said) if line.strip()), "")
        return f"failed ({last.strip()})" if last else "was killed"

    def _result(self, report: dict[str, Any]) -> GuestResult:
        end = report["status"]
        if end["error"] or (end["status"] and self._disk_is_full()):
            reason = os.strerror(end["error"] or errno.ENOSPC)
            raise GuestDisk(f"the guest could not write to {self.folder}: {reason}", self.console)
        return GuestResult(
            end["status"],
            self.console,
            report["wall"],
            report["cpu"],
            end["guest_ns"] / 1e9,
            self.contained,
            report["looks"],
        )

    def _error(self, report: dict[str, Any]) -> GuestError:
        reason, _, what = report["reason"].partition(": ")
        match reason:
            case "folder":
                return GuestFolder(f"the guest left {what} in its folder", self.console)
            case "abandoned":
                return GuestEnded("the guest was ended on request", self.console)
            case "livelock":
                return GuestLivelock(
                    f"the guest hangs: {self.budget.stall:g} s of CPU passed, and its clock still showed "
                    f"{(report['clock'] or 0) / 1e9:.3f} s{self._spun() or ': a process spins and never waits'}",
                    self.console,
                )
            case "deadlock":
                at = f"{(report['clock'] or 0) / 1e9:.3f} s of its time"
                return GuestDeadlock(f"the guest hangs: at {at} it waits, and none of its processes runs", self.console)
            case "wall":
                spun = self._spun() or (f": {report['busiest']} is busy" if report["busiest"] else "")
                return GuestTimeout(f"the guest did not end within {self.budget.wall:g} s{spun}", self.console)
            case "disk":
                return GuestDisk(f"the guest wrote more than {self.budget.disk} to its folder", self.console)
            case "processes":
                return GuestCrash(f"the guest has more than {self.budget.processes} processes", self.console)
            case "guest":
                within = f"{self.budget.guest:g} s of its time"
                return GuestTimeout(f"the guest did not end within {within}{self._spun()}", self.console)
        return self._crash(report["signal"])

    def _spun(self) -> str:
        """Return the kernel's last message about a spinning process, such as ": sh spins in select", or ""."""
        log = foreign.end(self.console, CONSOLE_BYTES)
        said: list[str] = re.findall(r"time-travel: (.* spins (?:in \w+|without a system call))", log)
        return ": " + re.sub(r"\w*sys_", "", said[-1]) if said else ""

    def _crash(self, number: int | None) -> GuestError:
        log = foreign.end(self.console, CONSOLE_BYTES)
        if log.startswith(NO_START):  # the supervisor wrote it, before the kernel could write
            return GuestHost(log.partition("\n")[0], self.console)
        if number == signal.SIGBUS or "likely just ran out of space" in log:
            return GuestHost(f"the host has no room left for the guest's memory of {self.memory}", self.console)
        if "Out of memory" in log:
            return GuestMemory(f"the guest needs more memory than its {self.memory}", self.console)
        if failed := re.search(r"hostfs: the host fails: (.*)", log):
            return GuestHost(f"the host failed the guest: {failed.group(1).strip()}", self.console)
        if panic := re.search(r"Kernel panic - not syncing: (.*)", log):
            return GuestCrash(f"the guest's kernel panicked: {panic.group(1).strip()}", self.console)
        if self._disk_is_full():
            return GuestDisk(f"the guest could not write to {self.folder}: {os.strerror(errno.ENOSPC)}", self.console)
        if number == signal.SIGKILL:  # no guest can do this to its kernel
            why = "the host ran out of memory, or a user killed it"
            return GuestHost(f"the guest's kernel was killed by SIGKILL: {why}", self.console)
        if number is not None:
            return GuestCrash(f"the guest was killed by {signal.Signals(number).name}", self.console)
        return GuestCrash("the guest ended before its command did", self.console)

    def _disk_is_full(self) -> bool:
        room = os.statvfs(self.folder)
        return room.f_bavail * room.f_frsize < 64 << 10  # space of files that we removed may be free again


def boot(
    kernel: Kernel,
    folder: Path,
    command: Sequence[str],
    *,
    seed: int = 1,
    clock: Clock = "virtual",
    memory: Size = Size(512 << 20),
    cpu: int | None = None,
    budget: Budget = Budget(),
    environment: Mapping[str, str] | None = None,
    root: Root | None = None,
) -> GuestResult:
    """Run one command in a fresh guest until it ends. `Guest` explains the arguments and errors."""
    options = {"seed": seed, "clock": clock, "memory": memory, "cpu": cpu, "budget": budget, "root": root}
    with Guest(kernel, folder, command, **options, environment=environment) as guest:  # type: ignore[arg-type]
        return guest.wait()


def _write_boot(
    scratch: Path, command: Sequence[str], environment: Mapping[str, str], terminal: bool, root: Root
) -> None:
    make(scratch)
    needed = [] if root.code else [Path(sys.prefix), Path(sys.base_prefix), PACKAGE]
    keep = sorted({str(path) for path in needed if str(path).startswith(tuple(f"{top}/" for top in HIDDEN))})
    job = {"cmdline": command, "environ": [f"{name}={value}" for name, value in environment.items()], "keep": keep}
    (scratch / "status").write_bytes(b" " * 256)
    for name, strings in job.items():
        (scratch / name).write_bytes(b"".join(os.fsencode(each) + b"\0" for each in strings))
    if terminal:
        (scratch / "terminal").touch()
    for name, folder in (("code", root.code), ("shown", root.shown)):
        if folder:
            (scratch / name).symlink_to(folder)
    init = scratch / "init"
    start = shlex.join([os.path.realpath(sys.executable), "-I", "-S", "-B", str(PACKAGE / "lab" / "guest" / "init.py")])
    init.write_text(f"#!/bin/sh\nexec {start}\n", encoding="utf-8")
    init.chmod(0o755)


def _cpu() -> int:
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[os.getpid() % len(allowed)]
