"""Wait until a given time, to the nanosecond, with a timerfd. A sleep could be late by the timer slack of 50 us."""

from __future__ import annotations

import ctypes
import os
import time
from types import TracebackType
from typing import Self

TFD_TIMER_ABSTIME = 1


class Alarm:
    """Wraps a timerfd. Raises OSError if the kernel cannot create one."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._timer = self._libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_CLOEXEC)
        if self._timer < 0:
            raise OSError(ctypes.get_errno(), "cannot make a timer")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._timer)

    def wait(self, moment_ns: int) -> None:
        """Sleep until CLOCK_MONOTONIC shows `moment_ns`. Return at once if this time has passed.

        Raises OSError if the timer fails.
        """
        times = (ctypes.c_long * 4)(0, 0, *divmod(max(moment_ns, 1), 10**9))
        if self._libc.timerfd_settime(self._timer, TFD_TIMER_ABSTIME, times, None):
            raise OSError(ctypes.get_errno(), "cannot wait for a moment")
        os.read(self._timer, 8)
