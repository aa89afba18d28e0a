"""Run any command of the experiment on a host and a service for the command on another host."""

from __future__ import annotations

import base64
import ctypes
import os
import shlex
import signal
import subprocess
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self

from msgspec import structs

from lab.guest import outputs
from lab.guest.task import Checked, IpNumber, Reader, Task, Writer, no_folder
from lab.guest.testbed import Child, Testbed, WorkloadError, ended
from lab.units import Duration

__all__ = ["COMPILED", "Listens", "Prints", "Program", "check_name", "content"]

PORT = 7000
READY_SECONDS = 20.0
POLL_SECONDS = 0.005
STOP_SECONDS = 5.0
MOST_BYTES = 8 << 20  # of all files, which are part of the trial's inputs
PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 0.1  # for a process that is about to end
_OWN = "{files}/"  # begins a command that is one of the files
COMPILED = "compiled"  # the folder of a trial, also in a guest, with the programs that were compiled from sources
FOLDER = Path("/tmp/replab-program")  # of its files; a trial has a private one, wherever it runs


class Listens(Checked, frozen=True, tag_field="kind", tag="listens"):
    """A service is ready when a program on its host listens on `{port}`."""

    protocol: Literal["tcp", "udp"] = "tcp"


class Prints(Checked, frozen=True, tag_field="kind", tag="prints"):
    """A service is ready when it has written `text` to its standard output or error."""

    text: str


class Program(Task, frozen=True):
    """Runs the command `argv` on `client`, and meanwhile the command `service` on `server`.

    In both commands and in `environment`, `{server}` and `{client}` stand for the hosts' addresses, and `{port}` for a
    free port. `{files}` stands for a folder with `files` and the programs compiled from `sources`, which have the stems
    of their source names; this folder comes first in the PATH. Files and C sources are in the experiment's folder. A
    name that ends in "/" is a folder: all of its files, except hidden files and `__pycache__`, are in `{files}/NAME/`.

    Both commands start in the folder program/ of the trial's outputs. The record keeps the files that they write there,
    and program.out, program.err, service.out and service.err. `argv` must end with status 0 within `limit` on the
    trial's clock, and leave no process behind.
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
    greedy: bool = False  # whether it sends as fast as the network allows
    ip: IpNumber = 4
    contents: dict[str, str] = {}  # of files and sources, compressed, after the experiment has been read

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.argv:
            raise ValueError("a program needs a command: argv=('name', 'argument', ...)")
        for name in self.files:
            for part in name.removesuffix("/").split("/"):
                check_name(part)
        for name in self.sources:
            check_name(name)
            if Path(name).suffix != ".c":
                raise ValueError(f"'{name}' is no C source: its name should end in .c")
        for command in (self.argv, self.service):
            if command and "/" in command[0] and not command[0].startswith(("/", _OWN)):
                raise ValueError(f"'{command[0]}' would not be found: write '{_OWN}{Path(command[0])}' for your file")

    @property
    def programs(self) -> tuple[str, ...]:  # type: ignore[override]  # the experiment decides which it runs
        """The guest's programs that the workload starts, without the workload's own programs."""
        own = {*self.files, *(Path(name).stem for name in self.sources)}
        started = dict.fromkeys(command[0] for command in (self.argv, self.service) if command)
        return tuple(name for name in started if name not in own and not name.startswith(_OWN))

    def writer(self) -> Writer:
        """Return an unknown way of writing, because the program decides how the sender writes."""
        return Writer(duration=self.limit)

    def reader(self) -> Reader:
        """Return an unknown way of reading, because the program decides how the receiver reads."""
        return Reader()

    def with_files(self, read: Callable[[str], bytes], within: Callable[[str], Iterable[str]] = no_folder, /) -> Self:
        """Return the workload with the contents of its files, and with the names of each folder's files.

        Raises the errors of `read` and `within`, and ValueError if the files are too large, if a command is none of
        them, or if two of them would have the same name in the guest.
        """
        named = (each for name in self.files for each in (within(name) if name.endswith("/") else (name,)))
        files, sources = dict.fromkeys(named), dict.fromkeys(self.sources)
        found: dict[str, bytes] = {}
        total = 0
        for name in (*files, *sources):
            found[name] = read(name)
            total += len(found[name])
            if total > MOST_BYTES:
                raise ValueError(f"files of {total:,} bytes or more are too many for a trial: {MOST_BYTES:,} at most")
        stems = {Path(name).stem: name for name in sources}
        folders = {str(parent) for name in files for parent in Path(name).parents}
        for stem in stems:
            if stem in files or stem in folders:
                raise ValueError(f"'{stems[stem]}' would compile to '{stem}', the name of another file: rename it")
        made = {*files, *stems}
        for command in (self.argv, self.service):
            if command and command[0].startswith(_OWN) and command[0].removeprefix(_OWN) not in made:
                raise ValueError(f"'{command[0]}' is none of the program's files: {', '.join(sorted(made)) or 'none'}")
        packed = {name: base64.b64encode(zlib.compress(each, 9)).decode() for name, each in found.items()}
        return structs.replace(self, files=tuple(files), sources=tuple(sources), contents=packed)

    def content(self, name: str) -> bytes:
        """Return the bytes of a file. Raises ValueError if the trial has no such file, or the file is damaged."""
        return content(self.contents, name)

    def run(self, testbed: Testbed) -> None:
        """Run both commands. Raises WorkloadError if a command fails, is late, or leaves a process behind."""
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
                service.wait("the service", STOP_SECONDS)  # raises its error, which is the cause
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
                service.wait(command.name, STOP_SECONDS)  # raises its error
            raise
        return service

    def _unpack(self, place: Path, compiled: Path) -> None:
        place.mkdir(parents=True)
        for name in self.files:
            if "/" in name:
                (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(self.content(name))
            (place / name).chmod(0o755)
        for name in self.sources:
            (place / Path(name).stem).symlink_to((compiled / Path(name).stem).resolve())


def check_name(name: str) -> None:
    """Raise ValueError unless this is a plain file name: no folder, no path out of a folder, no option."""
    if Path(name).name != name or name in ("", "..") or name[0] in "-@" or not name.isprintable() or len(name) > 100:
        raise ValueError(f"{name[:100]!r} is no name of a file beside the experiment")


def content(contents: Mapping[str, str], name: str) -> bytes:
    """Return the bytes of one file in a program's `contents`.

    Raises ValueError if the file is missing or damaged, or is larger than the limit for all files together.
    """
    try:
        unpacking = zlib.decompressobj()
        found = unpacking.decompress(base64.b64decode(contents[name], validate=True), MOST_BYTES + 1)
    except (KeyError, ValueError, zlib.error):  # also base64's
        raise ValueError(f"the trial lacks the file '{name}', or has it damaged") from None
    if not unpacking.eof or unpacking.unused_data or len(found) > MOST_BYTES:
        raise ValueError(f"the trial's file '{name}' is damaged, or has more than {MOST_BYTES:,} bytes")
    return found


class _Command:
    """Runs one command and all processes that it starts, in the output folder. No process outlives the command."""

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
        """Run the command to its end. Raises WorkloadError."""
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
        """Run the command until SIGTERM arrives, and pass the signal on.

        Raises WorkloadError if the command fails before that.
        """
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
        """Wait until the command has written this text. Raises WorkloadError if the command is late or ends."""
        deadline = time.monotonic() + READY_SECONDS
        while text not in self._written():
            if service.poll() is not None or time.monotonic() > deadline:
                raise WorkloadError(f"{self.name} never wrote '{text}': {self._said()}")
            time.sleep(POLL_SECONDS)

    def _start(self) -> subprocess.Popen[bytes]:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # processes that it leaves behind become our children
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
        text = self._written()
        found = outputs.sentence(Path(self._argv[0]).name, text)
        return found if text.strip() else f"{shlex.join(self._argv)} left no message"


class _Stopped(Exception):
    """Raised when the service is no longer needed."""


def _stop(*_: object) -> None:
    raise _Stopped


def _filled(text: str, known: Mapping[str, str]) -> str:
    """Return the text with known names in braces replaced. Other braces are kept."""
    for name, value in known.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _children() -> Iterator[tuple[int, str]]:
    """Yield (pid, name) of every running child, including orphans of our children."""
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
    """Kill every child, and then its children, which become children of this process."""
    while running := [pid for pid, _ in _children()]:
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(-1, 0)
