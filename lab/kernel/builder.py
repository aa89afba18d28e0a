"""Builds a kernel under test: a user-mode Linux with virtual time, once for each recipe."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn, Protocol

from lab.errors import InputError, LabError, MachineError
from lab.kernel import cache, recipe, source
from lab.kernel.cache import Kernel
from lab.kernel.recipe import Patch, Recipe
from lab.kernel.source import Source

__all__ = ["BuildFailed", "MissingTool", "Progress", "build"]

TOOLS = {  # program -> the Debian package that holds it
    "gcc": "gcc",
    "ld": "binutils",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "tar": "tar",
    "xz": "xz-utils",
    "nm": "binutils",
    "setpriv": "util-linux",
}
FETCH_TOOLS = {"apt-get": "apt", "dpkg-deb": "dpkg"}
HEADER = Path("/usr/include/stdio.h")  # UML is a program of the host
ROOM = 3 << 30  # bytes that a build takes for a while
STEPS = 1370  # objects compiled and archived: an estimate for the progress display


class MissingTool(MachineError):
    """Programs that a build needs are not installed; the message names their packages."""


class BuildFailed(LabError):
    """The kernel does not build; the message names the kept log."""


class Progress(Protocol):
    """Hears how a build goes on."""

    def say(self, message: str) -> None:
        """A new stage begins."""

    def step(self, done: int, total: int) -> None:
        """`done` objects of about `total` are compiled."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A kernel to build: `base` is the id of the plain one where this is a variant with the user's `extra` patches."""

    name: str
    recipe: Recipe
    base: str
    extra: tuple[Patch, ...]
    hz: int


class Silent:
    """A progress that nobody looks at."""

    def say(self, message: str) -> None: ...

    def step(self, done: int, total: int) -> None: ...


def build(
    name: str | None = None,
    patches: Sequence[Path] = (),
    hz: int = recipe.HZ,
    *,
    source_file: Path | None = None,
    refresh: bool = False,
    progress: Progress | None = None,
) -> Kernel:
    """The kernel of this recipe, from the cache or built now (minutes, and the network the first time).

    `name` is a series ("7.2"), or a variant's name that starts with one ("7.2-mss"); None means the newest series.
    A variant without a name of its own gets one from its patches and `hz` (ticks a second, 100 to 1000).
    `source_file` is a .deb, a tar file or a kernel tree to use instead of fetching. `refresh` looks for a newer source;
    without it the one found last is used and a kernel that is built needs no network.

    Raises MissingTool, BuildFailed, InputError (bad name, patch or hz) and MachineError (no source, no room).
    """
    progress = progress or Silent()
    series = cache.series(name) if name else None
    if name and not series:
        raise InputError(f"kernel '{name}': a name starts with a series, as in '7.2' or '7.2-mine'")
    extra = recipe.read_patches(patches)
    _need(TOOLS)
    home = cache.folder()
    if source_file is not None:
        found = source.from_file(source_file)
        if series not in (None, found.series):
            raise InputError(f"{source_file} is {found.version}, not {series}")
    else:
        _need(FETCH_TOOLS)
        found = source.resolve(home, series, refresh, progress.say)
    plain = Recipe(
        found.series,
        found.sha256,
        recipe.config(found.series, recipe.HZ),
        recipe.own_patches(found.series),
        recipe.compiler(),
    )
    made = replace(plain, config=recipe.config(found.series, hz), patches=plain.patches + extra)
    full_name = name if name and name != found.series else _variant(found.series, extra, hz)
    base = "" if made.id == plain.id else plain.id
    ready = cache.load(home / made.id)
    if ready is None:
        with _lock(home, progress):
            wanted = _Wanted(full_name, made, base, extra, hz)
            ready = cache.load(home / made.id) or _build(home, found, wanted, progress)
    if ready.name != full_name:
        raise InputError(f"this kernel is built already, as '{ready.name}'")
    return ready


def _variant(series: str, extra: Sequence[Patch], hz: int) -> str:
    marks = [patch.name for patch in extra] + ([f"hz{hz}"] if hz != recipe.HZ else [])
    return "-".join([series, *marks])


def _need(tools: dict[str, str]) -> None:
    missing = {package: tool for tool, package in tools.items() if shutil.which(tool) is None}
    if "gcc" in tools and not HEADER.exists():
        missing["libc6-dev"] = "the C library's headers"
    if missing:
        raise MissingTool(
            f"a kernel build needs {', '.join(missing.values())}: run `sudo apt-get install {' '.join(missing)}`"
        )


@contextlib.contextmanager
def _lock(home: Path, progress: Progress) -> Iterator[None]:
    """One build at a time. Whatever temporary folder exists once we hold the lock was left by a crash."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("waiting for another build")
            fcntl.flock(file, fcntl.LOCK_EX)
        for stale in home.glob(".build-*"):
            shutil.rmtree(stale)
        yield


def _build(home: Path, found: Source, wanted: _Wanted, progress: Progress) -> Kernel:
    made, name = wanted.recipe, wanted.name
    if shutil.disk_usage(home).free < ROOM:
        raise MachineError(f"a kernel build takes {ROOM >> 30} GiB for a while, and {home} has less")
    file = source.fetch(home, found, progress.say)
    place = home / f".build-{made.id}"
    tree = place / "tree"
    log = place / "build.log"
    with _terminable():
        try:
            place.mkdir()
            progress.say(f"unpacking {found.version}")
            source.unpack(file, tree)
            with log.open("wb") as output:
                _patch(tree, made.patches, output)
                progress.say(f"configuring {name}")
                _configure(tree, made, output)
                progress.say(f"compiling {name}")
                _make(tree, ["linux"], output, progress.step, home / "ccache")
            _collect(place, tree, found, wanted)
            progress.say("cleaning up")
            shutil.rmtree(tree)
            shutil.rmtree(home / made.id, ignore_errors=True)
            place.rename(home / made.id)
        except BuildFailed as error:
            kept = home / f"failed-{made.id}.log"
            log.replace(kept)
            raise BuildFailed(f"kernel {name} ({found.version}): {error}; the log is {kept}") from None
        except OSError as error:
            raise MachineError(f"cannot build kernel {name} in {home}: {error.strerror}") from None
        finally:
            shutil.rmtree(place, ignore_errors=True)
    (home / f"failed-{made.id}.log").unlink(missing_ok=True)
    ready = cache.load(home / made.id)
    if ready is None:
        raise MachineError(f"{home / made.id} vanished while it was built")
    return ready


def _patch(tree: Path, patches: Sequence[Patch], log: IO[bytes]) -> None:
    for patch in patches:
        log.write(f"patch {patch.name}\n".encode())
        log.flush()
        command = ["patch", "-p1", "--batch", "--forward", "--no-backup-if-mismatch"]
        if subprocess.run(command, cwd=tree, input=patch.text, stdout=log, stderr=log).returncode:
            raise BuildFailed(f"patch {patch.name} does not apply")


def _configure(tree: Path, made: Recipe, log: IO[bytes]) -> None:
    (tree / "lab.config").write_text(made.config, encoding="utf-8")
    _make(tree, ["allnoconfig", "KCONFIG_ALLCONFIG=lab.config"], log)
    lost = recipe.lost_options(made.config, (tree / ".config").read_text(encoding="utf-8"))
    if lost:
        log.write("".join(f"lost: {line}\n" for line in lost).encode())
        raise BuildFailed(f"the configuration did not keep {', '.join(lost)}")


def _make(
    tree: Path,
    goals: Sequence[str],
    log: IO[bytes],
    step: Callable[[int, int], None] | None = None,
    compiled: Path | None = None,
) -> None:
    """Run make; `step` counts what it compiles. However this ends, make and its children have ended too.

    What ccache, where it is installed, keeps in `compiled` makes a variant of a kernel a matter of a minute.
    """
    jobs = len(os.sched_getaffinity(0))
    settings = dict(recipe.SETTINGS)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tree), "LC_ALL": "C", "TZ": "UTC"}
    if compiled is not None and shutil.which("ccache"):
        settings["CC"] = "ccache gcc"
        environment |= {"CCACHE_DIR": str(compiled), "CCACHE_MAXSIZE": "1G", "CCACHE_BASEDIR": str(tree)}
    command = ["make", f"-j{jobs}", *(f"{name}={value}" for name, value in settings.items()), *goals]
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *command],
        cwd=tree,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    done = 0
    problem = ""
    try:
        for line in process.stdout:
            log.write(line)
            if re.match(rb"  (CC|AS|AR|LD) ", line) and step is not None:
                done += 1
                step(done, max(STEPS, done))
            if not problem and re.search(rb"\berror\b|\*\*\*|fatal:|\bld:(?!.*warning)", line, re.IGNORECASE):
                problem = line.decode(errors="replace").strip()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
    if process.returncode:
        raise BuildFailed(f"make {goals[0]} failed: {problem or f'exit status {process.returncode}'}")


def _collect(place: Path, tree: Path, found: Source, wanted: _Wanted) -> None:
    """Keep what a kernel is: the program, its configuration, its record; and read what the boot has to know."""
    linux = place / "linux"
    shutil.copyfile(tree / "linux", linux)  # a copy: UML's "linux" is a hard link to vmlinux
    linux.chmod(0o755)
    shutil.copyfile(tree / ".config", place / "config")
    symbols = subprocess.run(["nm", str(linux)], capture_output=True, text=True, check=True).stdout
    clock = re.search(r"^([0-9a-f]+) \w time_travel_time$", symbols, re.MULTILINE)
    if clock is None:
        raise BuildFailed("it has no virtual clock (time_travel_time)")
    usage = subprocess.run([str(linux), "--help"], capture_output=True, text=True).stdout
    kernel = Kernel(
        name=wanted.name,
        version=found.version,
        id=wanted.recipe.id,
        hz=wanted.hz,
        patches=tuple(patch.name for patch in wanted.extra),
        path=linux,
        clock=int(clock.group(1), 16),
        seccomp="seccomp=" in usage,
        base=wanted.base,
        digests=tuple(hashlib.sha256(patch.text).hexdigest() for patch in wanted.extra),
    )
    cache.save(kernel)


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM cleans up like Ctrl-C does. Only the main thread can see to it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
