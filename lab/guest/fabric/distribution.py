"""Compute netem's tables of delays for a jitter with a distribution.

netem draws one of a table's numbers evenly, and multiplies it by jitter / 8192 (`tabledist()` of
net/sched/sch_netem.c). A number is the mean of the delays in its share of all draws, in standard deviations. Each table
is shifted and scaled so that its mean is the delay and its standard deviation the jitter. The lab computes the tables
from the definitions. The numbers of iproute2's files end at four deviations, so that pareto's deviation is 18 % too
small.

- normal: the normal distribution.
- pareto: Pareto's distribution with shape 3, whose tail falls with the cube.
- paretonormal: 0.25 x normal + 0.75 x pareto at each quantile, as in NISTnet.
"""

from __future__ import annotations

import array
import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

from lab.guest.network import Distribution
from lab.units import Duration

SCALE = 8192  # NETEM_DIST_SCALE: the table's number for one jitter
COUNT = 16_384  # NETEM_DIST_MAX; it divides 2^32, so netem draws each number equally often
_LARGEST = 32_767
_SHAPE = 3.0


def table(distribution: Distribution) -> bytes:
    """Return netem's table, for the jitter of `stretched`."""
    return _numbers(distribution)[1].tobytes()


def reach(distribution: Distribution, deviation: Duration) -> tuple[Duration, Duration]:
    """Return how much a frame may be earlier, and how much later, than the mean delay."""
    stretch, numbers = _numbers(distribution)
    early, late = (math.ceil(abs(each) * stretch * deviation.ns / SCALE) for each in (min(numbers), max(numbers)))
    return Duration(early if min(numbers) < 0 else 0), Duration(late if max(numbers) > 0 else 0)


def stretched(distribution: Distribution, deviation: Duration) -> Duration:
    """Return the jitter that netem gets: a multiple, so that the longest delays fit the table's 16 bits."""
    return Duration(_numbers(distribution)[0] * deviation.ns)


@cache
def _numbers(distribution: Distribution) -> tuple[int, array.array[int]]:
    if distribution.table:
        return 1, array.array("h", map(int, distribution.table.split()))
    means = list({"normal": _normal, "pareto": _pareto, "paretonormal": _mixed}[distribution.name]())
    scaled = _standardised(means)
    stretch = math.ceil(max(map(abs, scaled)) * SCALE / _LARGEST)
    return stretch, array.array("h", (round(each * SCALE / stretch) for each in scaled))


def _normal() -> Iterator[float]:
    """Yield the mean of each share: the density's difference between its ends, divided by the share."""
    from statistics import NormalDist  # which takes a while to import

    normal = NormalDist()
    ends = [normal.inv_cdf(number / COUNT) for number in range(1, COUNT)]
    heights = [0.0, *map(normal.pdf, ends), 0.0]
    return (COUNT * (left - right) for left, right in pairwise(heights))


def _pareto() -> Iterator[float]:
    """Yield the mean of each share: the integral of the quantile function (1 - u)^(-1 / shape)."""
    power = 1 - 1 / _SHAPE
    ends = [(1 - number / COUNT) ** power for number in range(COUNT + 1)]
    return (COUNT * (left - right) / power for left, right in pairwise(ends))


def _mixed() -> Iterator[float]:
    pairs = zip(_standardised(list(_normal())), _standardised(list(_pareto())), strict=True)
    return (0.25 * one + 0.75 * other for one, other in pairs)


def _standardised(values: Sequence[float]) -> list[float]:
    """Return the values with a mean of 0 and a standard deviation of 1."""
    middle = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((each - middle) ** 2 for each in values) / len(values))
    return [(each - middle) / spread for each in values]
