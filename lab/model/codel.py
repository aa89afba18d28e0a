"""Compute CoDel's control law: while a queue persists, the intervals between drops become shorter and shorter.

The law is valid for traffic that does not react, while the sojourn time stays above the target. For traffic that
reacts, the law gives the first drops.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, takewhile

from lab.units import Duration

INTERVAL, TARGET = Duration.of("100 ms"), Duration.of("5 ms")  # RFC 8289, 4.2 and 4.3


def drop_times(interval: Duration = INTERVAL) -> Iterator[float]:
    """Yield the time of each drop, in seconds since the sojourn time first exceeded the target.

    RFC 8289, 5.4 and 5.5: the first drop comes an interval later, and drop n + 1 comes interval / sqrt(n) after drop n.
    The kernel's roots are slightly too small at first, which makes all later drops earlier by a quarter of an interval.
    """
    at = interval.seconds
    for root in inverse_roots():
        yield at
        at += interval.seconds * root


def inverse_roots() -> Iterator[float]:
    """Yield 1 / sqrt(n) for n = 1, 2, ... as the kernel computes it, with one Newton step from the previous value.

    codel_Newton_step() in net/codel_impl.h gives 0.5 for n = 2, and is within 3 % of the exact value from n = 3 on.
    """
    root = 1.0
    for number in count(2):
        yield root
        root *= (3 - number * root * root) / 2


def drops_within(seconds: float, interval: Duration = INTERVAL) -> int:
    """Return the number of packets that CoDel drops in the first `seconds` with a sojourn time above the target."""
    return sum(1 for _ in takewhile(lambda at: at <= seconds, drop_times(interval)))
