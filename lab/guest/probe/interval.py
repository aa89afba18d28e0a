"""Schedule the samples of a probe."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

from lab.units import Duration

__all__ = ["check_interval", "until_stopped"]


def check_interval(interval: Duration) -> None:
    """Raise ValueError for an interval of zero, because the probe would sample forever at one instant."""
    if not interval:
        raise ValueError(f"an interval of {interval} never ends: write one such as '10 ms'")


def until_stopped(interval: Duration) -> Iterator[None]:
    """Yield immediately, and then once per `interval` until SIGTERM arrives. The signal also interrupts a wait."""
    stop = {signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    due = time.monotonic_ns()
    while True:
        yield
        due += interval.ns
        if signal.sigtimedwait(stop, max(0, due - time.monotonic_ns()) / 1e9):
            return
