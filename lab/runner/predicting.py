"""Compute predictions on all cores while trials wait for them. A prediction that replays a transfer takes seconds.

Python runs only one thread at a time, so separate processes compute the predictions. These processes are forked, with
their work in memory, before this process starts threads.
"""

from __future__ import annotations

import os
import queue
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from lab.base.child import follow_parent
from lab.guest.trial import Trial

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

_Tasks = Mapping[str, Sequence[Callable[[], None]]]  # by the run that they concern


@contextmanager
def predicting(tasks: _Tasks, processes: int) -> Iterator[Callable[[Trial], None]]:
    """Yield a function that computes and stores the predictions for a trial's run, and returns when they are stored.

    Several threads may call the function. At most `processes` predictions are computed at a time.
    """
    if processes < 2 or not tasks:
        yield lambda trial: _make(tasks, trial.run_address)
        return
    from multiprocessing import get_context

    context = get_context("fork")  # tasks hold functions of experiments' files, which only a fork passes on
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
            except (EOFError, OSError):  # the process was ended: then this one makes them
                _make(tasks, trial.run_address)
            finally:
                free.put(connection)

        yield made
    finally:
        for process in running:
            process.kill()
            process.join()


def _work(connection: Connection, tasks: _Tasks, parent: int) -> None:
    """Compute the requested predictions until this process is killed, at the latest when its parent ends."""
    follow_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(EOFError, OSError):  # then the parent makes it, and reports the error
        while os.getppid() == parent:
            _make(tasks, connection.recv())
            connection.send(None)


def _make(tasks: _Tasks, run: str) -> None:
    for task in tasks.get(run, ()):
        task()
