"""Give workloads and probes access to the hosts of one trial, and to the folder for its outputs."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
from msgspec import structs

from lab.errors import LabError, MachineError
from lab.guest import outputs
from lab.guest.alarm import Alarm

if TYPE_CHECKING:
    from random import Random

LISTENING = {"tcp": "0A", "udp": "07"}  # states in /proc/net: TCP_LISTEN, and that of a bound UDP socket
READY_SECONDS = 20.0
POLL_NS = 5_000_000
STOP_SECONDS = 5.0
POLL_MS = 2**31 - 1  # the most that poll() accepts: 24 days
SOON_SECONDS = 60.0
CRASHED = 2  # the status of a child that raised any error except a LabError
MESSAGE_BYTES = 4096  # of an error message: less than a pipe holds


class WorkloadError(LabError):
    """Raised if a measuring tool fails or does not end in time."""


def _no_queues(link: str, way: str) -> Mapping[str, Any]:
    raise WorkloadError(f"there is no link {link}, {way}, to look at")


def _no_wires(link: str, way: str) -> tuple[Joinable, str]:
    raise WorkloadError(f"there is no link {link}, {way}, to change")


class Joinable(Protocol):
    """Describes a network namespace that a thread can enter."""

    def join(self) -> None:
        """Move the calling thread into the namespace."""

    def entered(self) -> AbstractContextManager[None]:
        """Move the calling thread into the namespace for this context."""


class Testbed(msgspec.Struct, frozen=True):
    """Gives access to the hosts of one trial by name, and to the folder for its outputs."""

    spaces: Mapping[str, Joinable]  # host -> its network namespace
    addresses: Mapping[tuple[str, int], str]  # (host, IP version) -> its address
    out: Path  # where the outputs go
    undo: ExitStack  # ends the processes started here, if they still run
    chance: str = ""  # the start of all random draws here; it depends on the trial's seed
    own_port: int | None = None  # the port of the workload's server, if it runs beside other workloads
    beat_ns: int = POLL_NS  # workloads begin when the clock shows a multiple of it, plus phase_ns
    phase_ns: int = 0
    compiled: Path = Path()  # the folder of the programs that were compiled for the trial
    queue: Callable[[str, str], Mapping[str, Any]] = _no_queues  # (link, way) -> the state of its queue
    entrance: Callable[[str, str], tuple[Joinable, str]] = _no_wires  # (link, way) -> where its frames enter the wire

    def part(self, name: str, port: int, undo: ExitStack) -> Testbed:
        """Return the testbed for one of several workloads, with a separate output folder, port and random generator."""
        out = self.out / name
        out.mkdir()
        chance, compiled = f"{self.chance}.{name}", self.compiled / name
        return structs.replace(self, out=out, undo=undo, chance=chance, own_port=port, compiled=compiled)

    def off_beat(self) -> Testbed:
        """Return the testbed with a beat that falls on this moment."""
        return structs.replace(self, phase_ns=time.monotonic_ns() % self.beat_ns)

    def port(self, usual: int) -> int:
        """Return the port of the workload's server: the default port, unless several workloads run side by side."""
        return usual if self.own_port is None else self.own_port

    def draws(self) -> Random:
        """Return the workload's random number generator.

        Equal seeds give equal numbers on every kernel and machine.
        """
        from random import Random  # a trial without chance starts faster without it

        return Random(self.chance)

    def address(self, node: str, version: int = 4) -> str:
        """Return the first IPv4 (or IPv6) address of `node`. Raises KeyError if the node has no such address."""
        return self.addresses[node, version]

    def start(
        self,
        node: str,
        argv: Sequence[str],
        output: str | None = None,
        errors: str | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        """Start a tool on `node`. Its standard output goes to the file `output`.

        Its standard error goes to the file `errors` if given, else also to `output`. Raises MachineError if the tool is
        not installed.
        """
        with ExitStack() as files:
            target = files.enter_context(open(self.out / output, "wb")) if output else subprocess.DEVNULL
            log = files.enter_context(open(self.out / errors, "wb")) if errors else subprocess.STDOUT
            files.enter_context(self.spaces[node].entered())  # in a child, it would need a copy of all our memory
            try:
                process = subprocess.Popen(argv, stdin=stdin, stdout=target, stderr=log)
            except FileNotFoundError:
                raise MachineError(f"the tool '{argv[0]}' is missing: install the package that has it") from None
        self.undo.callback(_end, process)
        return process

    def run(self, node: str, argv: Sequence[str], output: str) -> str:
        """Run a short-lived tool on `node`, and return its output, which is also written to the file `output`.

        Raises MachineError if the tool is not installed, and WorkloadError if the tool fails.
        """
        self.wait(self.start(node, argv, output), SOON_SECONDS, output)
        return (self.out / output).read_text()

    def spawn(self, node: str, work: Callable[[], None]) -> Child:
        """Run a Python function on `node`, in a separate process."""
        child = Child.fork(self.spaces[node], work)
        self.undo.callback(child.end)
        return child

    def wait(self, process: subprocess.Popen[bytes], seconds: float, output: str | None = None) -> None:
        """Wait for a tool to succeed. Raises WorkloadError if the tool is late or fails.

        After a failure, the error has the tool's own message.
        """
        tool = _name(process.args)  # type: ignore[arg-type]  # always started with a list
        if process.poll() is None and not ended(process.pid, seconds):
            raise WorkloadError(f"{tool} did not end within {seconds:g} s of the trial's clock")
        status = process.wait()
        if status != 0:
            raise WorkloadError(f"{tool} failed with status {status}: {outputs.sentence(tool, self._written(output))}")

    def wait_for_listener(
        self, process: subprocess.Popen[bytes] | Child, port: int, protocol: Literal["tcp", "udp"] = "tcp"
    ) -> None:
        """Wait for a listener on `port` in the process's namespace. Raises WorkloadError if no listener appears.

        The method returns on the testbed's beat. In virtual time, kernel ticks and probe samples fall on the beat.
        TCP's timers expire on ticks, so the phase at which a connection starts decides when each delayed ACK is sent.
        """
        deadline = time.monotonic() + READY_SECONDS
        with Alarm() as alarm:
            while time.monotonic() < deadline:
                beats = (time.monotonic_ns() - self.phase_ns) // self.beat_ns
                alarm.wait((beats + 1) * self.beat_ns + self.phase_ns)
                if _listens(process.pid, port, protocol):
                    return
                if process.poll() is not None:
                    raise WorkloadError(f"the server for port {port} ended before it listened")
        raise WorkloadError(f"nothing listens on port {port} after {READY_SECONDS:g} s")

    def _written(self, output: str | None) -> str:
        there = output is not None and (self.out / output).exists()
        return (self.out / str(output)).read_text(errors="replace") if there else ""


def _name(argv: Sequence[str]) -> str:
    """Return the name of a tool that runs as a program or as a Python module."""
    return argv[2] if argv[1:2] == ["-m"] else Path(argv[0]).name


def _listens(pid: int, port: int, protocol: Literal["tcp", "udp"]) -> bool:
    """Return whether a program listens on `port` in the network namespace of a process."""
    wanted = f":{port:04X}"
    for file in (protocol, f"{protocol}6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{file}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[1].endswith(wanted) and fields[3] == LISTENING[protocol]:
                    return True
    return False


class Child:
    """Runs a Python function in a forked process.

    A traceback is written to standard error, and so to the console log.
    """

    def __init__(self, pid: int, said: int) -> None:
        self.pid = pid
        self._said = said  # the end of a pipe that carries the message of its error
        self._status: int | None = None
        self._message = ""
        self._lock = Lock()  # several workloads run in threads, and if one fails, it ends the others' processes

    @classmethod
    def fork(cls, space: Joinable, work: Callable[[], None]) -> Child:
        """Start `work` in `space`, in a new process."""
        said, say = os.pipe()
        pid = os.fork()
        if pid:
            os.close(say)
            return cls(pid, said)
        status = 1
        try:
            space.join()
            work()
            status = 0
        except LabError as error:
            os.write(say, str(error).encode()[:MESSAGE_BYTES])
        except BaseException as error:  # noqa: BLE001  # the parent gets the child's error, whatever it is
            import traceback

            traceback.print_exc()
            status = CRASHED
            os.write(say, f"{type(error).__name__}: {error}".encode()[:MESSAGE_BYTES])
        finally:
            os._exit(status)

    def poll(self) -> int | None:
        """Return the exit status, or None while the process runs."""
        with self._lock:
            if self._status is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self._reaped(status)
            return self._status

    def wait(self, what: str, seconds: float) -> None:
        """Wait until the process has succeeded.

        Raises WorkloadError if the process fails or is late. The error message is the process's own, or names the
        process as `what`.
        """
        if self._status is None and not ended(self.pid, seconds):
            raise WorkloadError(f"{what} did not end within {seconds:g} s of the trial's clock")
        self.poll()
        if self._message:
            raise WorkloadError(f"{what} failed: {self._message}" if self._status == CRASHED else self._message)
        if self._status != 0:
            raise WorkloadError(f"{what} failed with status {self._status}: see the console log")

    def stop(self, what: str) -> None:
        """Ask the process to finish (SIGTERM), and wait for its end. Raises WorkloadError if the process fails or is
        late.
        """
        os.kill(self.pid, signal.SIGTERM)
        self.wait(what, STOP_SECONDS)

    def end(self) -> None:
        """Kill the process if it still runs."""
        with self._lock:
            if self._status is None:
                os.kill(self.pid, signal.SIGKILL)
                self._reaped(os.waitpid(self.pid, 0)[1])

    def _reaped(self, status: int) -> None:
        self._status = os.waitstatus_to_exitcode(status)
        os.set_blocking(self._said, False)
        with contextlib.suppress(BlockingIOError):  # it sent no message, and another process still holds the pipe
            self._message = os.read(self._said, MESSAGE_BYTES).decode(errors="replace")
        os.close(self._said)


def ended(pid: int, seconds: float) -> bool:
    """Return whether the child `pid` ends within `seconds`.

    The function sleeps and does not poll, because polling would cost the guest time.
    """
    handle = os.pidfd_open(pid)
    try:
        waiting = select.poll()  # select() accepts no handle above 1,023, and a thousand workloads have more
        waiting.register(handle, select.POLLIN)
        return bool(waiting.poll(min(seconds * 1000, POLL_MS)))
    finally:
        os.close(handle)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
