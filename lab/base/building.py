"""Build entries of the cache, one build at a time, and remove old entries.

An interrupted build leaves no files behind.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, Protocol, TextIO

from lab.base import foreign, terminal
from lab.base.child import follow_parent
from lab.errors import LabError

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

    from rich.progress import Progress as Bars

UNFINISHED = ".build-"  # begins the names of folders that are being built
SHORT = 60.0  # seconds: shorter times are not shown
WEEK = 7 * 24 * 3600  # seconds after which unused files are removed


class Progress(Protocol):
    """Receives reports on a build's progress."""

    def say(self, message: str) -> None:
        """Begin a new stage."""

    def step(self, done: int, total: int) -> None:
        """Report that `done` of about `total` parts of this stage are done."""

    def remark(self, text: str) -> None:
        """Print a remark that stays on the screen."""


class Silent:
    """Shows no progress."""

    def say(self, message: str) -> None:
        """Do nothing."""

    def step(self, done: int, total: int) -> None:
        """Do nothing."""

    def remark(self, text: str) -> None:
        """Do nothing."""


@contextmanager
def shown(stream: TextIO | None = None) -> Iterator[Progress]:
    """Yield a progress display on `stream` (default: standard error): bars on a terminal, lines elsewhere."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield Lines(stream)
        return
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
    with Progress(*columns, console=terminal.console(file=stream)) as bars:
        yield Bar(bars)


@contextmanager
def alone(home: Path, progress: Progress) -> Iterator[None]:
    """Allow only one build in the folder `home` at a time, and remove unfinished files from earlier crashes."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("waiting for another build")
            fcntl.flock(file, fcntl.LOCK_EX)
        for stale in home.glob(f"{UNFINISHED}*"):
            foreign.remove(stale)  # a thread of another process may be removing it: `dispose`
        yield


def dispose(folder: Path, home: Path) -> None:
    """Remove a folder in the background, because removing a source tree takes half a minute.

    The program waits for the removal at exit. The folder first moves into `home`, which `alone` clears, so that the
    next build completes an interrupted removal.
    """
    aside = folder.rename(home / f"{UNFINISHED}gone-{os.getpid()}-{time.monotonic_ns()}")
    threading.Thread(target=foreign.remove, args=(aside,), name="dispose").start()


def hold(kept: Path) -> bool:
    """Keep a file or a folder in a cache as long as this process lives. Return whether the path exists.

    The descriptor of the file stays open. Another process may have just removed the file, so use the file only if the
    function returns True.
    """
    with suppress(OSError):  # it is missing, or its file system has no locks
        handle = os.open(kept, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_SH)
        return os.path.samestat(os.fstat(handle), kept.stat())
    return kept.exists()


@contextmanager
def holding(kept: Iterable[Path]) -> Iterator[None]:
    """Lock parts of a cache inside the context, so that no other process removes them.

    A part that is missing or cannot be locked is skipped.
    """
    with ExitStack() as stack:
        for each in kept:
            with suppress(OSError):
                handle = os.open(each, os.O_RDONLY)
                stack.callback(os.close, handle)
                fcntl.flock(handle, fcntl.LOCK_SH)
        yield


@contextmanager
def unheld(kept: Path) -> Iterator[None]:
    """Keep other processes from holding a file or a folder inside the context.

    Raises OSError if a process holds it, or if it is missing.
    """
    handle = os.open(kept, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def forget(kept: Iterable[Path]) -> None:
    """Remove the files and folders that no process holds and that no process used in the last week."""
    for old in kept:
        with suppress(OSError):  # it is being removed, or it is held: a run takes that long, or the date has jumped
            if time.time() - old.stat().st_mtime > WEEK:
                _remove(old)


def _remove(old: Path) -> None:
    with unheld(old):
        if old.is_dir():
            shutil.rmtree(old)
        else:
            old.unlink()


@contextmanager
def terminable() -> Iterator[None]:
    """Clean up on SIGTERM as on Ctrl-C. The context works only in the main thread."""
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
    """Start a process that does `work` in parallel.

    The new process cleans up on SIGTERM, and when this process ends for any reason.
    """
    from multiprocessing import get_context

    context = get_context("fork")  # the process has all that this one has read
    process = context.Process(target=_forked, args=(work, os.getpid()), daemon=True)
    process.start()
    return process


def _forked(work: Callable[[], None], parent: int) -> None:
    with terminable():
        follow_parent(signal.SIGTERM)
        if os.getppid() == parent:
            work()


@contextmanager
def aside(work: Callable[[], object]) -> Iterator[ForkProcess]:
    """Run `work` in a process during this context, and wait for its end.

    If the work fails, the code that needs the result reports the reason.
    """
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
    """Writes a line per stage and a line per tenth of a stage's parts."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.stage = ""
        self.tenths = 0
        self.begun = time.monotonic()
        self.before: int | None = None  # parts of the stage that were already done when it began

    def say(self, message: str) -> None:
        """Write the new stage."""
        self.stage, self.tenths, self.begun, self.before = message, 0, time.monotonic(), None
        self._write(message)

    def step(self, done: int, total: int) -> None:
        """Write the finished share of the stage and the remaining time at the current pace."""
        self.before = done - 1 if self.before is None else self.before
        if 10 * done // total > self.tenths:
            self.tenths = 10 * done // total
            left = (time.monotonic() - self.begun) * (total - done) / (done - self.before)
            said = f", about {round(left / 60)} min left" if left >= SHORT else ""
            self._write(f"{self.stage}: {10 * self.tenths} %{said}")

    def remark(self, text: str) -> None:
        """Write the remark."""
        self._write(text)

    def _write(self, line: str) -> None:
        terminal.write(line, self.stream)
        self.stream.flush()


class Bar:
    """Shows the stage's parts as a bar, which is a task in `bars`."""

    def __init__(self, bars: Bars) -> None:
        self.bars = bars
        self.task = bars.add_task("", total=None)

    def say(self, message: str) -> None:
        """Restart the bar."""
        self.bars.reset(self.task, total=None, description=message)

    def step(self, done: int, total: int) -> None:
        """Move the bar."""
        self.bars.update(self.task, completed=done, total=total)

    def remark(self, text: str) -> None:
        """Write the remark above the bars."""
        self.bars.console.print(text, markup=False)
