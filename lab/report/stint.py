"""Limit how long a cell of a notebook computes: an extension of IPython, for the kernels that execute notebooks.

What counts is the processor's time that the notebook's own process takes, not the clock on the wall: a cell that waits,
be it for a processor on a busy machine, for a disk, or for trials that it has started, does no harm.
"""

from __future__ import annotations

import os
import signal
from typing import Any

__all__ = ["SECONDS", "ComputesTooLong", "load_ipython_extension"]

SECONDS = "LAB_CELL_SECONDS"  # tells the process how long a cell may compute
_AGAIN = 5.0  # seconds of the processor's time after which a cell is told again, should it go on


class ComputesTooLong(BaseException):
    """A cell has computed for longer than it may. No `except Exception` of its own takes it for something else."""


def load_ipython_extension(shell: Any) -> None:
    """Have every cell of this shell end with ComputesTooLong when its time is over."""
    seconds = float(os.environ[SECONDS])

    def over(*_: object) -> None:
        raise ComputesTooLong(f"it has computed for more than {seconds:g} s")

    signal.signal(signal.SIGPROF, over)
    shell.events.register("pre_run_cell", lambda *_: signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN))
    shell.events.register("post_run_cell", lambda *_: signal.setitimer(signal.ITIMER_PROF, 0))
