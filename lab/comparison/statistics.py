"""Test whether two samples differ by more than chance: for real time, where every run gives another figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["SIGNIFICANT", "MannWhitney", "mann_whitney"]

SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class MannWhitney:
    """Say how a new sample compares with a base one.

    `p` is the chance of a difference at least as large, up or down, if nothing changed. `effect` is the rank-biserial
    correlation: from -1 (every new figure below every old one) to 1 (above), 0 when neither is likelier.
    """

    p: float
    effect: float

    @property
    def significant(self) -> bool:
        """Say whether chance is an unlikely reason. Samples of fewer than four and four can never show that."""
        return self.p < SIGNIFICANT


def mann_whitney(base: Sequence[float], new: Sequence[float]) -> MannWhitney:
    """Run the exact test of Mann and Whitney (1947), two-sided, with the mean rank for ties. Both samples need a value.

    All ways to share out the ranks are counted, which is exact with ties, too. The effect is Kerby's (2014).
    """
    ranks = _doubled_ranks([*base, *new])
    observed = sum(ranks[len(base) :])
    sums = _sums(ranks, len(new))
    centre = len(new) * (len(ranks) + 1)  # the mean of all such sums, doubled as the ranks are
    as_far = sum(count for total, count in sums.items() if abs(total - centre) >= abs(observed - centre))
    return MannWhitney(as_far / sum(sums.values()), (observed - centre) / (len(base) * len(new)))


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
