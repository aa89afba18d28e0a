"""Limit the CPU time of a notebook's cells, as an extension of IPython for the kernels that execute notebooks.

The limit counts the CPU time of the notebook's own process, not wall-clock time. A cell may wait for a processor on a
busy machine, for a disk, or for trials that it has started.
"""

from __future__ import annotations

import signal
from typing import Any

from lab.report.told import told

_AGAIN = 5.0  # seconds of CPU time after which the error is raised again, if the cell continues


class ComputesTooLong(BaseException):
    """Raised if a cell computes for longer than its limit.

    An `except Exception` in the cell does not catch this exception.
    """


def load_ipython_extension(shell: Any) -> None:
    """Make every cell of this shell raise ComputesTooLong at the limit. Without a limit, do nothing."""
    there = told()
    if there is None:
        return
    seconds = there.seconds

    def over(*_: object) -> None:
        raise ComputesTooLong(f"the cell computed for more than {seconds:g} s")

    signal.signal(signal.SIGPROF, over)
    shell.events.register("pre_run_cell", lambda *_: signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN))
    shell.events.register("post_run_cell", lambda *_: signal.setitimer(signal.ITIMER_PROF, 0))
