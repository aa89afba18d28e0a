"""Keep the moments at which a probe looks."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

from lab.units import Duration

__all__ = ["until_stopped"]


def until_stopped(interval: Duration) -> Iterator[None]:
    """Yield at once, and once per `interval` from then on, until SIGTERM comes, which ends a wait of any length."""
    stop = {signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    due = time.monotonic_ns()
    while True:
        yield
        due += interval.ns
        if signal.sigtimedwait(stop, max(0, due - time.monotonic_ns()) / 1e9):
            return
