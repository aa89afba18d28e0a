"""Build the variants that claims need while trials run, in a process of its own that lets these go first.

A process, since it is ended as Ctrl-C ends a build: from outside, and whatever it does, it leaves nothing half done.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path

from lab.building import Progress, forked, shown
from lab.errors import LabError, MachineError
from lab.kernel import Kernel, KernelMissing
from lab.kernel.uml import builder
from lab.kernel.uml.cache import series
from lab.runner.progress import Display
from lab.spec.loaded import LoadedExperiment
from lab.spec.variant import ResolvedVariant

__all__ = ["Variants", "beside"]

LAST = 10  # how nice it is: at work where nothing else is, and not starved by a busy machine
POLL_SECONDS = 0.1  # how long the end of a display may wait


@contextmanager
def beside(experiments: Sequence[LoadedExperiment], kernel: Kernel) -> Iterator[Variants | None]:
    """Build those variants of `kernel` that the claims need and that are not here, beside what runs here meanwhile.

    Yields None where nothing lacks. A process of its own builds them, one after another, and lets all others go first.
    However this ends, it has ended too, and what it had not finished is gone.
    """
    named = dict.fromkeys(case.kernel for each in experiments for case in each.cases() if case.kernel)
    lacking = [wanted for wanted in named if not _built(kernel, wanted)]
    if not lacking:
        yield None
        return
    ours, theirs = Pipe(duplex=False)
    process = forked(partial(_build, theirs, series(kernel.name), lacking))
    theirs.close()
    try:
        yield Variants(process, ours, lacking)
    finally:
        process.terminate()
        process.join()


class Variants:
    """Hold the variants that are being built, and what their builder says."""

    def __init__(self, process: ForkProcess, said: Connection, lacking: Collection[ResolvedVariant]) -> None:
        self._process, self._said = process, said
        self._lacking = set(lacking)
        self._stage, self._steps = "", (0, 0)
        self._over = False  # whether nothing is said any more
        self._failed: Exception | None = None

    def parts(self, experiments: Sequence[LoadedExperiment]) -> Iterator[Sequence[LoadedExperiment]]:
        """Yield claims as soon as all their kernels are here, waiting for one where no other claim is left.

        Those of a kernel that does not come are never yielded. At the end the builder is gone.
        """
        waiting = list(experiments)
        while True:
            lacking = set(self._lacking)
            part = [each for each in waiting if not lacking.intersection(case.kernel for case in each.cases())]
            waiting = [each for each in waiting if each not in part]
            if part:
                yield part
            elif self._over:
                break
            else:
                self._wait()
        self._process.join()  # it still removes what it needs no more

    @contextmanager
    def shown(self, display: Display) -> Iterator[None]:
        """Let `display` show how the builds go on, for as long as this lasts."""
        enough = threading.Event()

        def show() -> None:
            try:
                with display.beside() as progress:
                    self._resume(progress)
                    while not (self._over or enough.is_set()):
                        if self._said.poll(POLL_SECONDS):
                            self._hear(progress)
            except OSError as error:  # nobody reads any more, or the log's disk is full
                self._failed, self._over = error, True

        thread = threading.Thread(target=show, name="builds", daemon=True)
        if not self._over:
            thread.start()
        try:
            yield
        finally:
            enough.set()
            if thread.is_alive():
                thread.join()

    def check(self) -> None:
        """Raise what a build ended with, if one failed."""
        if self._failed:
            raise self._failed

    def _wait(self) -> None:
        """Return when one kernel more is here, or none will be; standard error shows how it comes."""
        lacking = len(self._lacking)
        with shown() as progress:
            self._resume(progress)
            while len(self._lacking) == lacking and not self._over:
                self._hear(progress)

    def _resume(self, progress: Progress) -> None:
        """Show what another display has shown before."""
        if self._stage:
            progress.say(self._stage)
        if self._steps[0]:
            progress.step(*self._steps)

    def _hear(self, progress: Progress) -> None:
        """Take the next of what the builder says, and show it."""
        try:
            kind, *what = self._said.recv()
        except EOFError:
            self._process.join()
            self._over = True
            if self._lacking and not self._failed:
                self._failed = MachineError(f"the builder of kernels was ended (status {self._process.exitcode})")
            return
        if kind == "say":
            self._stage, self._steps = what[0], (0, 0)
            progress.say(self._stage)
        elif kind == "step":
            self._steps = (what[0], what[1])
            progress.step(*self._steps)
        elif kind == "remark":
            progress.remark(what[0])
        elif kind == "built":
            self._lacking.discard(what[0])
            self._stage, self._steps = "", (0, 0)
            self._over = not self._lacking
        else:
            self._failed, self._over = what[0], True
            progress.remark(str(self._failed))


class _Told:
    """Tell those who wait how a build goes on."""

    def __init__(self, to: Connection) -> None:
        self._to = to

    def say(self, message: str) -> None:
        self._to.send(("say", message))

    def step(self, done: int, total: int) -> None:
        self._to.send(("step", done, total))

    def remark(self, text: str) -> None:
        self._to.send(("remark", text))


def _build(to: Connection, name: str, lacking: Sequence[ResolvedVariant]) -> None:
    """Build variants of a series, and say when one is here."""
    _go_last()
    try:
        for wanted in lacking:
            builder.variant(name, wanted, _Told(to))
            to.send(("built", wanted))
    except (LabError, OSError, MemoryError) as error:
        to.send(("failed", error))


def _go_last() -> None:
    """Let all other processes go first, in our session and, where the host's kernel groups by sessions, in others."""
    os.setsid()
    os.nice(LAST)
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(LAST), encoding="ascii")


def _built(kernel: Kernel, wanted: ResolvedVariant) -> bool:
    try:
        kernel.variant(wanted)
    except KernelMissing:
        return False
    return True
