"""Make netem draw delays uniformly, for a jitter of any length.

Without a table, netem takes 32 random bits modulo twice the jitter in ns (`tabledist()` of net/sched/sch_netem.c). If
twice the jitter does not divide 2^32, the lowest values occur more often, by one in 2^32 / (2 x jitter): a delay of 3 s
with a jitter of 1.5 s has a mean of 2.743 s. A table of delays has no such bias, on any kernel.
"""

from __future__ import annotations

import array

from lab.units import Duration

MOST_UNEVEN = 0.002
_SCALE = 8192  # NETEM_DIST_SCALE: the table's number for one jitter
_U32 = 1 << 32


def unevenness(jitter: Duration) -> float:
    """Return the largest difference between the distribution that netem draws without a table and a uniform one."""
    width = 2 * jitter.ns
    more = _U32 % width  # values that come once more often than the others
    return more * (width - more) / (width * _U32)


def table(jitter: Duration) -> bytes | None:
    """Return netem's table for a uniform draw of delays within `jitter`, or None if netem's own draw is uniform enough.

    The table's 16,383 steps are symmetric about zero and end one step short of the jitter.
    """
    if not jitter or unevenness(jitter) <= MOST_UNEVEN:
        return None
    return array.array("h", range(1 - _SCALE, _SCALE)).tobytes()
