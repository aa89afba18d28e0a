"""Compute when a link's changes come: once, at regular intervals, or by chance.

Gaps by chance are exponential, so the changes form a Poisson process. They are drawn with whole numbers only, so that
every CPU and every version of Python draws the same gaps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import accumulate, count, islice, repeat

from lab.guest.network import Change
from lab.units import Duration

_BITS = 64  # of a uniform draw


def moments(change: Change, seed: str) -> Iterator[int]:
    """Return the moments of a change, in ns since the workload's start, in order. There may be no last one.

    `seed` decides the moments of a change that comes by chance.
    """
    found: Iterator[int]
    if change.every_about:
        found = islice(accumulate(gaps(seed, change.every_about), initial=change.at.ns), 1, None)
    elif change.every:
        found = accumulate(repeat(change.every.ns), initial=change.at.ns)
    else:
        return iter((change.at.ns,))
    return islice(found, change.times)


def gaps(seed: str, mean: Duration) -> Iterator[int]:
    """Yield gaps in ns, exponentially distributed with this mean, forever.

    The method is von Neumann's (1951), "Various techniques used in connection with random digits": the first of a run
    of falling uniform draws is the fraction of an exponential draw if the run's length is odd, which has the
    probability exp(-first). Each run of even length adds one to the whole part.
    """
    draws = _uniform(seed)
    whole = 0
    for first in draws:
        least, length = first, 1
        while (draw := next(draws)) < least:
            least, length = draw, length + 1
        if length % 2:
            yield ((whole << _BITS) + first) * mean.ns >> _BITS
            whole = 0
        else:
            whole += 1


def _uniform(seed: str) -> Iterator[int]:
    """Yield whole numbers below 2^64, evenly distributed: the first eight bytes of the SHA-256 of "seed/0", and so
    on.
    """
    for number in count():
        yield int.from_bytes(hashlib.sha256(f"{seed}/{number}".encode()).digest()[:8], "little")
