"""What moves a virtual clock while programs run (docs/virtual-time.md), and what its grain does to timers.

Written after arch/um/kernel/time.c (timer_read(), itimer_next_event()) and arch/um/kernel/skas/syscall.c. Times are
whole nanoseconds.
"""

from __future__ import annotations

__all__ = ["FAILED", "GRAIN", "fires", "shown"]

GRAIN = 256  # by which a process that reads the clock brings it on: TIMER_MULTIPLIER
FAILED = 1000  # a system call that fails takes this long: handle_syscall()


def shown(at: int) -> int:
    """What a clock says then: whole grains."""
    return at - at % GRAIN


def fires(at: int) -> int:
    """When a timer for that time does: on the first grain after it."""
    return shown(at) + GRAIN
