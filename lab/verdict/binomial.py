"""Bound an event's probability from its number of occurrences: the exact interval of Clopper and Pearson (1934)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, fsum, lgamma, log, log1p

_STEPS = 50  # halvings of the interval: to 1e-15


@lru_cache
def at_most(hits: int, count: int, doubt: float) -> float:
    """Return the highest probability of an event at which `hits` or fewer of `count` still have probability `doubt`."""
    if hits >= count:
        return 1.0
    return _root(lambda chance: _below(hits + 1, count, chance) > doubt)


def at_least(hits: int, count: int, doubt: float) -> float:
    """Return the lowest probability of an event at which `hits` or more of `count` still have probability `doubt`."""
    return 1 - at_most(count - hits, count, doubt)


def interval(hits: int, count: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the two-sided interval of the probability."""
    doubt = (1 - confidence) / 2
    return at_least(hits, count, doubt), at_most(hits, count, doubt)


def _root(is_below: Callable[[float], bool]) -> float:
    """Return the point at which `is_below` changes. `is_below` is true at 0 and false at 1."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return high


def _below(bound: int, count: int, chance: float) -> float:
    """Return P(X < bound) for a binomial X."""
    return fsum(
        exp(
            lgamma(count + 1)
            - lgamma(hits + 1)
            - lgamma(count - hits + 1)
            + hits * log(chance)
            + (count - hits) * log1p(-chance)
        )
        for hits in range(bound)
    )
