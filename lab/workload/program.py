"""Run a program of the experiment's own: any command on any host, and a service that it talks to on another."""

from __future__ import annotations

import base64
import binascii
import ctypes
import os
import shlex
import signal
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self

import msgspec
from msgspec import structs

from lab import outputs
from lab.spec.task import Reader, Task, Writer
from lab.testbed import Child, Testbed, WorkloadError, ended
from lab.units import Duration

__all__ = ["COMPILED", "Listens", "Prints", "Program", "content"]

PORT = 7000
READY_SECONDS = 20.0
POLL_SECONDS = 0.005
STOP_SECONDS = 5.0
MOST_BYTES = 8 << 20  # of all files: they are part of the trial's inputs
PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 0.1  # in which a process that is about to end may do so
COMPILED = "compiled"  # the folder of a trial, and in a guest, with what sources were compiled to
FOLDER = Path("/tmp/replab-program")  # of its files, private to a trial wherever that runs


class Listens(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="listens"):
    """A service is ready when something on its host listens on `{port}`."""

    protocol: Literal["tcp", "udp"] = "tcp"


class Prints(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="prints"):
    """A service is ready when it has written `text` to its standard output or error."""

    text: str


class Program(Task, frozen=True):
    """Runs the command `argv` on `client`, and the command `service` on `server` for as long as that takes.

    In both, and in `environment`, `{server}` and `{client}` stand for the hosts' addresses, `{port}` for a port that is
    free, and `{files}` for the folder that holds `files` and what `sources` were compiled to, by their stems; it is
    the first of the PATH. Files and C sources lie beside the experiment. Both commands start in the folder program/ of
    the trial's outputs; what they write there is kept, as are program.out and program.err, service.out and service.err.
    `argv` has to end with status 0 within `limit` of the trial's clock, and leave no process behind.
    """

    argv: tuple[str, ...]
    service: tuple[str, ...] = ()
    ready: Listens | Prints = Listens()
    client: str = "sender"
    server: str = "receiver"
    environment: dict[str, str] = {}
    files: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    limit: Duration = Duration.of("60 s")
    greedy: bool = False  # whether it sends as fast as the network takes it
    ip: int = 4
    contents: dict[str, str] = {}  # of files and sources, compressed, once the experiment has been read

    def __post_init__(self) -> None:
        if not self.argv:
            raise ValueError("a program needs a command: argv=('name', 'argument', ...)")
        for name in (*self.files, *self.sources):
            if Path(name).name != name:
                raise ValueError(f"'{name}' is no name of a file beside the experiment")
        for name in self.sources:
            if Path(name).suffix != ".c":
                raise ValueError(f"'{name}' is no C source: its name should end in .c")

    @property
    def programs(self) -> tuple[str, ...]:  # type: ignore[override]  # which it runs is up to the experiment
        """The programs of the guest's that it starts; those that it brings along are none."""
        own = {*self.files, *(Path(name).stem for name in self.sources)}
        return tuple(
            dict.fromkeys(command[0] for command in (self.argv, self.service) if command and command[0] not in own)
        )

    def writer(self) -> Writer:
        """How it writes is its own affair."""
        return Writer(duration=self.limit)

    def reader(self) -> Reader:
        """How it reads is its own affair."""
        return Reader()

    def with_files(self, read: Callable[[str], bytes], /) -> Self:
        """Return it with the contents of its files. Raises what `read` raises, ValueError when they are too large."""
        found = {name: read(name) for name in (*self.files, *self.sources)}
        if (total := sum(map(len, found.values()))) > MOST_BYTES:
            raise ValueError(f"files of {total:,} bytes are too many for a trial's inputs: {MOST_BYTES:,} at most")
        packed = {name: base64.b64encode(zlib.compress(each, 9)).decode() for name, each in found.items()}
        return structs.replace(self, contents=packed)

    def content(self, name: str) -> bytes:
        """Return the bytes of a file. Raises ValueError when a trial has none of that name, or damaged ones."""
        return content(self.contents, name)

    def run(self, testbed: Testbed) -> None:
        """Run both commands. Raises WorkloadError when one fails, is late, or leaves a process behind."""
        place = FOLDER / str(testbed.port(PORT))
        self._unpack(place, testbed.compiled)
        (testbed.out / outputs.PROGRAM).mkdir()
        known = {
            "server": testbed.address(self.server, self.ip),
            "client": testbed.address(self.client, self.ip),
            "port": str(testbed.port(PORT)),
            "files": str(place),
        }
        service = self._serve(testbed, known) if self.service else None
        command = _Command(self.argv, self.environment, known, testbed.out.resolve(), outputs.PROGRAM)
        program = testbed.spawn(self.client, lambda: command.run(self.limit))
        try:
            program.wait(command.name, self.limit.seconds + 2 * STOP_SECONDS)
        except WorkloadError:
            if service and service.poll() is not None:
                service.wait("the service", STOP_SECONDS)  # raises what it failed with, which is the cause
            raise
        if service and service.poll() is None:
            service.stop("the service")

    def _serve(self, testbed: Testbed, known: Mapping[str, str]) -> Child:
        command = _Command(self.service, self.environment, known, testbed.out.resolve(), outputs.SERVICE)
        service = testbed.spawn(self.server, command.serve)
        try:
            if isinstance(self.ready, Listens):
                testbed.wait_for_listener(service, testbed.port(PORT), self.ready.protocol)
            else:
                command.wait_for_text(self.ready.text, service)
        except WorkloadError:
            if service.poll() is not None:
                service.wait(command.name, STOP_SECONDS)  # raises what it failed with
            raise
        return service

    def _unpack(self, place: Path, compiled: Path) -> None:
        place.mkdir(parents=True)
        for name in self.files:
            (place / name).write_bytes(self.content(name))
            (place / name).chmod(0o755)
        for name in self.sources:
            (place / Path(name).stem).symlink_to((compiled / Path(name).stem).resolve())


def content(contents: Mapping[str, str], name: str) -> bytes:
    """Return the bytes of one of a program's `contents`. Raises ValueError when it is not there, or is damaged."""
    try:
        return zlib.decompress(base64.b64decode(contents[name], validate=True))
    except (KeyError, binascii.Error, zlib.error):
        raise ValueError(f"the trial lacks the file '{name}', or has it damaged") from None


class _Command:
    """Runs one command in the folder of the outputs, and all that it starts: none of these outlives it."""

    def __init__(
        self, argv: tuple[str, ...], environment: Mapping[str, str], known: Mapping[str, str], out: Path, kept: str
    ) -> None:
        self.name = f"'{argv[0]}'"
        self._argv = [_filled(each, known) for each in argv]
        self._folder = out / outputs.PROGRAM
        self._output, self._errors = out / f"{kept}.out", out / f"{kept}.err"
        path = f"{known['files']}:{os.environ.get('PATH', os.defpath)}"
        own = {name: _filled(value, known) for name, value in environment.items()}
        self._environment = {**os.environ, "PATH": path, **own}

    def run(self, limit: Duration) -> None:
        """Run it to its end. Raises WorkloadError."""
        process = self._start()
        try:
            if not ended(process.pid, limit.seconds):
                raise WorkloadError(f"{self.name} did not end within {limit} of the trial's clock: {self._said()}")
            self._check(process.wait())
            deadline = time.monotonic() + GRACE_SECONDS
            while left := [name for _, name in _children()]:
                if time.monotonic() > deadline:
                    raise WorkloadError(f"{self.name} ended, and left processes behind: {', '.join(sorted(left))}")
                time.sleep(POLL_SECONDS)
        finally:
            _end_children()

    def serve(self) -> None:
        """Run it until SIGTERM comes, which it then gets too. Raises WorkloadError when it fails before that."""
        signal.signal(signal.SIGTERM, _stop)
        process = self._start()
        try:
            self._check(process.wait())
        except _Stopped:
            process.terminate()
            ended(process.pid, STOP_SECONDS)
        finally:
            _end_children()

    def wait_for_text(self, text: str, service: Child) -> None:
        """Wait until it has written this. Raises WorkloadError when it does not, or ends."""
        deadline = time.monotonic() + READY_SECONDS
        while text not in self._written():
            if service.poll() is not None or time.monotonic() > deadline:
                raise WorkloadError(f"{self.name} never wrote '{text}': {self._said()}")
            time.sleep(POLL_SECONDS)

    def _start(self) -> subprocess.Popen[bytes]:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # what it leaves behind becomes ours
        with self._output.open("wb") as output, self._errors.open("wb") as errors:
            try:
                return subprocess.Popen(
                    self._argv,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    cwd=self._folder,
                    env=self._environment,
                )
            except OSError as error:
                raise WorkloadError(f"{self.name} cannot be started: {error.strerror}") from None

    def _check(self, status: int) -> None:
        if status < 0:
            raise WorkloadError(f"{self.name} was ended by {signal.Signals(-status).name}: {self._said()}")
        if status:
            raise WorkloadError(f"{self.name} ended with status {status}: {self._said()}")

    def _written(self) -> str:
        files = (each for each in (self._output, self._errors) if each.exists())
        return "\n".join(each.read_text(errors="replace") for each in files)

    def _said(self) -> str:
        lines = [line.strip() for line in self._written().splitlines() if line.strip()]
        return lines[-1] if lines else f"{shlex.join(self._argv)} left no message"


class _Stopped(Exception):
    """The service is no longer needed."""


def _stop(*_: object) -> None:
    raise _Stopped


def _filled(text: str, known: Mapping[str, str]) -> str:
    """Return the text with what it has in braces; braces around anything else stay."""
    for name, value in known.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _children() -> Iterator[tuple[int, str]]:
    """Yield (pid, name) of every child that runs, among them what our children have left to us."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass  # it has ended
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            pid, _, rest = stat.read_text().partition(" (")
            name, _, fields = rest.rpartition(") ")
            state, parent, *_ = fields.split()
            if int(parent) == os.getpid() and state != "Z":
                yield int(pid), name


def _end_children() -> None:
    """Kill every child, and then the children of each, which are ours once it is gone."""
    while running := [pid for pid, _ in _children()]:
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(-1, 0)
