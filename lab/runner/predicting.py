"""Make predictions on all cores, while trials wait for them: a prediction that replays a transfer takes seconds.

Python runs one thread at a time, so processes make them. They are forked, before there are threads, with what they are
to predict in their memory.
"""

from __future__ import annotations

import ctypes
import os
import queue
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from lab.record.trial import Trial

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

__all__ = ["predicting"]

PR_SET_PDEATHSIG = 1  # linux/prctl.h

Tasks = Mapping[str, Sequence[Callable[[], None]]]  # by the run that they are about


@contextmanager
def predicting(tasks: Tasks, processes: int) -> Iterator[Callable[[Trial], None]]:
    """Yield a function that makes and keeps what is predicted for a trial's run, and returns when that is done.

    Several threads may call it: as many predictions as there are `processes` are made at a time.
    """
    if processes < 2 or not tasks:
        yield lambda trial: _make(tasks, trial.run_address)
        return
    from multiprocessing import get_context

    context = get_context("fork")  # tasks hold functions of experiments' files, which nothing else passes on
    free: queue.SimpleQueue[Connection] = queue.SimpleQueue()
    running: list[ForkProcess] = []
    try:
        for _ in range(processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, tasks, os.getpid()), daemon=True)
            process.start()
            running.append(process)
            theirs.close()
            free.put(ours)

        def made(trial: Trial) -> None:
            if not tasks.get(trial.run_address):
                return
            connection = free.get()
            try:
                connection.send(trial.run_address)
                connection.recv()
            except (EOFError, OSError):  # somebody ended it: then we do it
                _make(tasks, trial.run_address)
            finally:
                free.put(connection)

        yield made
    finally:
        for process in running:
            process.kill()
            process.join()


def _work(connection: Connection, tasks: Tasks, parent: int) -> None:
    """Make what is asked for, until killed, which happens at the latest when the parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(EOFError, OSError):  # then the parent does it, and says what fails
        while os.getppid() == parent:
            _make(tasks, connection.recv())
            connection.send(None)


def _make(tasks: Tasks, run: str) -> None:
    for task in tasks.get(run, ()):
        task()
