"""Test whether two samples of a random figure differ by more than chance, and estimate the difference.

The test is exact, and does not assume a distribution. The interval of the ratio inverts the test: the interval contains
every factor that the test, at its level, would not distinguish from the estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

from lab.units import Value
from lab.verdict.correction import LEVEL


@dataclass(frozen=True, slots=True)
class MannWhitney:
    """Describes the difference between a new sample and a base sample.

    `p` is the probability of a difference at least as large, up or down, if the figure did not change. `least` is the
    smallest p that these figures can give in any order: 0.1 for three against three. `effect` is the rank-biserial
    correlation: -1 if every new figure is below every old figure, 1 if every new figure is above every old figure, and
    0 if neither is more likely.
    """

    p: float
    least: float
    effect: float


def mann_whitney(base: Sequence[float], new: Sequence[float]) -> MannWhitney:
    """Return the result of the exact two-sided test of Mann and Whitney (1947), with mean ranks for ties.

    Each sample needs at least one value. The test counts all ways to distribute the ranks, so it is exact even with
    ties. Source of the effect: Kerby (2014).
    """
    ranks = _doubled_ranks([*base, *new])
    observed = sum(ranks[len(base) :])
    sums = _sums(ranks, len(new))
    centre = len(new) * (len(ranks) + 1)  # the mean of all such sums, doubled like the ranks

    def chance(distance: int) -> float:
        return sum(count for total, count in sums.items() if abs(total - centre) >= distance) / sum(sums.values())

    furthest = max(abs(total - centre) for total in sums)
    effect = (observed - centre) / (len(base) * len(new))
    return MannWhitney(chance(abs(observed - centre)), chance(furthest), effect)


def attainable(base: int, new: int) -> float:
    """Return the smallest p that samples of these sizes can give without ties, when they do not overlap."""
    return min(1.0, 2 / comb(base + new, new))


def ratio(base: Sequence[float], new: Sequence[float]) -> Value | None:
    """Return the factor from the base sample to the new one: the median of all pairs' ratios (Hodges and Lehmann 1963).

    The interval's ends are the k-th smallest and the k-th largest ratio (Moses 1965). k follows from the test's
    distribution, so that the coverage is at least 95 %, or the highest possible coverage for samples of this size. The
    method assumes that new figures are old figures times a factor, plus chance. Return None if a figure is not above 0.
    """
    if min([*base, *new]) <= 0:
        return None
    ratios = sorted(after / before for after in new for before in base)
    least = sum(range(1, len(new) + 1))
    ways = {total - least: count for total, count in _sums(range(1, len(base) + len(new) + 1), len(new)).items()}
    everything = sum(ways.values())
    skipped, outside = 0, 2 * ways[0] / everything
    while (further := outside + 2 * ways.get(skipped + 1, 0) / everything) <= LEVEL:
        skipped, outside = skipped + 1, further
    return Value(median(ratios), "1", ratios[skipped], ratios[-1 - skipped], 1 - outside)


def detectable(found: Value) -> float | None:
    """Return the smallest relative change that samples with this scatter show in half of all cases.

    This change is the distance from the estimated ratio to the farther end of the interval. Return None if the figures
    are too few to show any change.
    """
    if found.low is None or found.high is None or found.coverage is None or found.coverage < 1 - LEVEL:
        return None
    return max(found.number / found.low, found.high / found.number) - 1


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Return the doubled rank of each value, from 1. Doubling makes the mean rank of equal values a whole number."""
    ordered = sorted(values)
    first = {value: at for at, value in reversed([*enumerate(ordered, 1)])}
    return [2 * first[value] + ordered.count(value) - 1 for value in values]


def _sums(ranks: Sequence[int], size: int) -> dict[int, int]:
    """Return, for each sum, the number of ways in which `size` of the ranks add up to it."""
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in range(size))]
    for rank in ranks:
        for chosen in range(size, 0, -1):
            for total, count in ways[chosen - 1].items():
                ways[chosen][total + rank] = ways[chosen].get(total + rank, 0) + count
    return ways[size]
