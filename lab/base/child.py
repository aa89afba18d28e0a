"""Make child processes end with their parent, whatever ends the parent."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def follow_parent(end: signal.Signals = signal.SIGKILL) -> None:
    """Have this process receive the signal `end` when the thread that started it ends, and ignore Ctrl-C."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends this process


@contextmanager
def pool() -> Iterator[ProcessPoolExecutor]:
    """Yield a pool with a process for each core. After an error in this context, the processes end at once.

    Enter the context before the process starts threads, because the pool's processes are forked.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children

    others = {*active_children()}
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), initializer=follow_parent) as workers:
        workers.submit(int).result()  # a pool starts its processes at the first task
        try:
            yield workers
        except BaseException:
            for child in {*active_children()} - others:
                child.kill()
            raise
