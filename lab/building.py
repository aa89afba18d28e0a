"""Build what the cache keeps: one build at a time, which leaves nothing when it ends early; and forget what is old."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, Protocol, TextIO

from lab.errors import LabError

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

    from rich.progress import Progress as Bars

__all__ = [
    "UNFINISHED",
    "WEEK",
    "Bar",
    "Lines",
    "Progress",
    "Silent",
    "alone",
    "aside",
    "dispose",
    "forget",
    "forked",
    "hold",
    "shown",
    "terminable",
]

UNFINISHED = ".build-"  # begins the names of folders that are being built
SHORT = 60.0  # seconds: of less, nothing is said
PR_SET_PDEATHSIG = 1  # linux/prctl.h
WEEK = 7 * 24 * 3600  # seconds, after which nobody wants what nobody used


class Progress(Protocol):
    """A build tells this how it goes on."""

    def say(self, message: str) -> None:
        """Say that a new stage begins."""

    def step(self, done: int, total: int) -> None:
        """Say that `done` parts of about `total` are done in this stage."""

    def remark(self, text: str) -> None:
        """Say what stays to be read."""


class Silent:
    """Show no progress: nobody is looking."""

    def say(self, message: str) -> None:
        """Say nothing."""

    def step(self, done: int, total: int) -> None:
        """Say nothing."""

    def remark(self, text: str) -> None:
        """Say nothing."""


@contextmanager
def shown(stream: TextIO | None = None) -> Iterator[Progress]:
    """Yield a progress that writes to `stream`, standard error by default: bars on a terminal, lines elsewhere."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield Lines(stream)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=stream)) as bars:
        yield Bar(bars)


@contextmanager
def alone(home: Path, progress: Progress) -> Iterator[None]:
    """Allow one build in the folder `home` at a time. What is unfinished there once it is our turn, a crash left."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("waiting for another build")
            fcntl.flock(file, fcntl.LOCK_EX)
        for stale in home.glob(f"{UNFINISHED}*"):
            shutil.rmtree(stale, ignore_errors=True)  # another may just be at it: `dispose`
        yield


def dispose(folder: Path, home: Path) -> None:
    """Remove a folder while others go on, as a source tree takes half a minute; the program ends when it is gone.

    It goes into `home`, which `alone` clears, first: what is cut short there is removed by the next build.
    """
    aside = folder.rename(home / f"{UNFINISHED}gone-{os.getpid()}-{time.monotonic_ns()}")
    threading.Thread(target=shutil.rmtree, args=(aside, True), name="dispose").start()


def hold(kept: Path) -> bool:
    """Keep a file or a folder of a cache for as long as this process lives; return whether it is there.

    The descriptor stays open. What was just forgotten is held in vain: it is looked for afterwards.
    """
    with suppress(OSError):  # it is not there, or its file system has no locks
        handle = os.open(kept, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_SH)
        return os.path.samestat(os.fstat(handle), kept.stat())
    return kept.exists()


def forget(kept: Iterable[Path]) -> None:
    """Remove the files and folders that nobody holds, and that nobody used in the last week."""
    for old in kept:
        with suppress(OSError):  # it goes already, or is held: a run lasts for so long, or the date has jumped
            if time.time() - old.stat().st_mtime > WEEK:
                _remove(old)


def _remove(old: Path) -> None:
    handle = os.open(old, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if old.is_dir():
            shutil.rmtree(old)
        else:
            old.unlink()
    finally:
        os.close(handle)


@contextmanager
def terminable() -> Iterator[None]:
    """Clean up on SIGTERM as on Ctrl-C. Only the main thread can do so."""
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


def forked(work: Callable[[], None]) -> ForkProcess:
    """Start a process that does `work` beside us. It cleans up on SIGTERM, and when this one ends, however it does."""
    from multiprocessing import get_context

    context = get_context("fork")  # it has all that we have read
    process = context.Process(target=_forked, args=(work, os.getpid()), daemon=True)
    process.start()
    return process


def _forked(work: Callable[[], None], parent: int) -> None:
    with terminable():
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends us
        if os.getppid() == parent:
            work()


@contextmanager
def aside(work: Callable[[], object]) -> Iterator[ForkProcess]:
    """Let a process do `work` meanwhile, and wait for its end. Where it fails, who needs what it was for says why."""
    process = forked(partial(_tried, work))
    try:
        yield process
        process.join()
    finally:
        process.terminate()
        process.join()


def _tried(work: Callable[[], object]) -> None:
    with suppress(LabError, OSError):
        work()


class Lines:
    """Write a line per stage, and one per tenth of its parts."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.stage = ""
        self.tenths = 0
        self.begun = time.monotonic()
        self.before: int | None = None  # parts of the stage that were done when it was told of

    def say(self, message: str) -> None:
        """Write it."""
        self.stage, self.tenths, self.begun, self.before = message, 0, time.monotonic(), None
        self._write(message)

    def step(self, done: int, total: int) -> None:
        """Write how much is done, and how long the rest takes at the pace since the stage was told of."""
        self.before = done - 1 if self.before is None else self.before
        if 10 * done // total > self.tenths:
            self.tenths = 10 * done // total
            left = (time.monotonic() - self.begun) * (total - done) / (done - self.before)
            said = f", about {round(left / 60)} min left" if left >= SHORT else ""
            self._write(f"{self.stage}: {10 * self.tenths} %{said}")

    def remark(self, text: str) -> None:
        """Write it."""
        self._write(text)

    def _write(self, line: str) -> None:
        self.stream.write(f"{line}\n")
        self.stream.flush()


class Bar:
    """Show the stage as a bar of its parts, a task of `bars`."""

    def __init__(self, bars: Bars) -> None:
        self.bars = bars
        self.task = bars.add_task("", total=None)

    def say(self, message: str) -> None:
        """Begin the bar anew."""
        self.bars.reset(self.task, total=None, description=message)

    def step(self, done: int, total: int) -> None:
        """Move the bar."""
        self.bars.update(self.task, completed=done, total=total)

    def remark(self, text: str) -> None:
        """Write it above the bars."""
        self.bars.console.print(text, markup=False)
