"""Test whether two samples differ by more than chance, and say by how much: where another draw gives another figure.

No distribution is assumed. The test is exact, and the interval of the ratio is the test turned around: it holds every
factor that the test, at its own level, would not tell from the one found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

from lab.units import Value

__all__ = ["LEVEL", "MannWhitney", "attainable", "detectable", "holm", "mann_whitney", "ratio"]

LEVEL = 0.05  # of error in the tests of one run, together


@dataclass(frozen=True, slots=True)
class MannWhitney:
    """Say how a new sample compares with a base one.

    `p` is the chance of a difference at least as large, up or down, if nothing changed, and `least` is the smallest p
    that these figures can give, however they were shared out: 0.1 for three against three. `effect` is the rank-
    biserial correlation: from -1 (every new figure below every old one) to 1 (above), 0 when neither is likelier.
    """

    p: float
    least: float
    effect: float


def mann_whitney(base: Sequence[float], new: Sequence[float]) -> MannWhitney:
    """Run the exact test of Mann and Whitney (1947), two-sided, with the mean rank for ties. Both samples need a value.

    All ways to share out the ranks are counted, which is exact with ties, too. The effect is Kerby's (2014).
    """
    ranks = _doubled_ranks([*base, *new])
    observed = sum(ranks[len(base) :])
    sums = _sums(ranks, len(new))
    centre = len(new) * (len(ranks) + 1)  # the mean of all such sums, doubled as the ranks are

    def chance(distance: int) -> float:
        return sum(count for total, count in sums.items() if abs(total - centre) >= distance) / sum(sums.values())

    furthest = max(abs(total - centre) for total in sums)
    effect = (observed - centre) / (len(base) * len(new))
    return MannWhitney(chance(abs(observed - centre)), chance(furthest), effect)


def attainable(base: int, new: int) -> float:
    """Return the smallest p that samples of these sizes can give, if no figures are equal: all below, or above."""
    return min(1.0, 2 / comb(base + new, new))


def ratio(base: Sequence[float], new: Sequence[float]) -> Value | None:
    """Return the factor from the base sample to the new one: the median of all pairs' ratios (Hodges and Lehmann 1963).

    Its interval runs between the k-th ratios from below and from above (Moses 1965), where k follows from the test's
    distribution so that the coverage is at least 95 %, or as much as samples of this size can have. That is for new
    figures which are the old ones times a factor, and chance. Return None when a figure is not above 0.
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
    """Return the smallest relative change that samples which scatter like these show in half of all cases.

    It is as far as the interval's further end is from the ratio found. Return None when the interval is of so few
    figures that they show no change, however large.
    """
    if found.low is None or found.high is None or found.coverage is None or found.coverage < 1 - LEVEL:
        return None
    return max(found.number / found.low, found.high / found.number) - 1


def holm(tests: Sequence[float]) -> list[float]:
    """Correct the p of several tests by Holm (1979), in their order: below a level, that is the chance of any error.

    The smallest p is multiplied by the number of tests, the next one by one less, and none falls below the one before.
    """
    corrected, least = [1.0] * len(tests), 0.0
    for done, which in enumerate(sorted(range(len(tests)), key=tests.__getitem__)):
        least = max(least, min(1.0, tests[which] * (len(tests) - done)))
        corrected[which] = least
    return corrected


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Return the rank of each value, from 1, doubled: the mean of equal values' ranks is then whole."""
    ordered = sorted(values)
    first = {value: at for at, value in reversed([*enumerate(ordered, 1)])}
    return [2 * first[value] + ordered.count(value) - 1 for value in values]


def _sums(ranks: Sequence[int], size: int) -> dict[int, int]:
    """Return sum -> in how many ways `size` of the ranks add up to it."""
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in range(size))]
    for rank in ranks:
        for chosen in range(size, 0, -1):
            for total, count in ways[chosen - 1].items():
                ways[chosen][total + rank] = ways[chosen].get(total + rank, 0) + count
    return ways[size]
