"""Build the kernel variants that claims need while trials run, in a separate process with the lowest priority.

The builder is a process so that the lab can end it, as Ctrl-C ends a build, without leaving unfinished files behind.
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

from lab.base.building import Progress, forked, shown
from lab.errors import LabError, MachineError
from lab.machine.kernel import Kernel, KernelMissing
from lab.machine.kernel.uml import builder
from lab.machine.kernel.uml.cache import series
from lab.runner.progress import Display
from lab.spec.loaded import LoadedExperiment
from lab.spec.variant import ResolvedVariant

LAST = 10  # its niceness: it works only when nothing else does, but a busy machine does not starve it
POLL_SECONDS = 0.1  # the longest delay at the end of a display


@contextmanager
def beside(experiments: Sequence[LoadedExperiment], kernel: Kernel, trust: bool = False) -> Iterator[Variants | None]:
    """Yield a builder for the missing variants of `kernel` that the claims need, while other work continues here.

    Yield None if no variant is missing. A separate process builds the variants, one after another, with the lowest
    priority. When this context ends, the build also ends, and unfinished files are removed. `trust` has the same
    meaning as in `builder.build`.
    """
    named = dict.fromkeys(case.kernel for each in experiments for case in each.cases() if case.kernel)
    lacking = [wanted for wanted in named if not _built(kernel, wanted)]
    if not lacking:
        yield None
        return
    ours, theirs = Pipe(duplex=False)
    process = forked(partial(_build, theirs, series(kernel.name), lacking, trust))
    theirs.close()
    try:
        yield Variants(process, ours, lacking)
    finally:
        process.terminate()
        process.join()


class Variants:
    """Holds the variants that are being built, and their builder's messages."""

    def __init__(self, process: ForkProcess, said: Connection, lacking: Collection[ResolvedVariant]) -> None:
        self._process, self._said = process, said
        self._lacking = set(lacking)
        self._stage, self._steps = "", (0, 0)
        self._over = False  # whether to show nothing more
        self._failed: Exception | None = None

    def parts(self, experiments: Sequence[LoadedExperiment]) -> Iterator[Sequence[LoadedExperiment]]:
        """Yield claims as soon as all their kernels are ready. Wait only if no other claim is left.

        Claims whose kernel cannot be built are never yielded. After the last claim, the builder has ended.
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
        self._process.join()  # it may still remove its temporary files

    @contextmanager
    def shown(self, display: Display) -> Iterator[None]:
        """Make `display` show the progress of the builds within this context."""
        enough = threading.Event()

        def show() -> None:
            try:
                with display.beside() as progress:
                    self._resume(progress)
                    while not (self._over or enough.is_set()):
                        if self._said.poll(POLL_SECONDS):
                            self._hear(progress)
            except OSError as error:  # there is no reader any more, or the log's disk is full
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
        """Raise the error of a failed build, if there is one."""
        if self._failed:
            raise self._failed

    def _wait(self) -> None:
        """Wait until one more kernel is ready, or no kernel is left to build. Standard error shows the progress."""
        lacking = len(self._lacking)
        with shown() as progress:
            self._resume(progress)
            while len(self._lacking) == lacking and not self._over:
                self._hear(progress)

    def _resume(self, progress: Progress) -> None:
        """Show the current state, which another display has shown so far."""
        if self._stage:
            progress.say(self._stage)
        if self._steps[0]:
            progress.step(*self._steps)

    def _hear(self, progress: Progress) -> None:
        """Receive and show the builder's next message."""
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
    """Sends the progress of a build to the waiting process."""

    def __init__(self, to: Connection) -> None:
        self._to = to

    def say(self, message: str) -> None:
        self._to.send(("say", message))

    def step(self, done: int, total: int) -> None:
        self._to.send(("step", done, total))

    def remark(self, text: str) -> None:
        self._to.send(("remark", text))


def _build(to: Connection, name: str, lacking: Sequence[ResolvedVariant], trust: bool) -> None:
    """Build variants of a series, and send a message when a variant is ready."""
    _go_last()
    try:
        for wanted in lacking:
            builder.variant(name, wanted, _Told(to), trust)
            to.send(("built", wanted))
    except (LabError, OSError, MemoryError) as error:
        to.send(("failed", error))


def _go_last() -> None:
    """Give priority to all other processes, even if the host's kernel groups processes by session."""
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
