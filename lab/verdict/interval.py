"""Compute intervals: for means with the bootstrap, for medians with order statistics, for events with the binomial.

Each interval has a minimum coverage. For a mean, the coverage depends on the distribution: `covers` is the lowest
coverage for the ten distributions that docs/statistics.md lists, and that tests/verdict/test_interval.py measures.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from math import atan, ceil, comb, fsum, pi, sqrt
from random import Random
from statistics import median as middle

from lab.verdict import binomial

NOMINAL = 0.95
_COVERS = {2: 0.85, 4: 0.89, 10: 0.91, 30: 0.93}  # number of figures -> the least coverage from this number on
_RESAMPLES, _SEED = 1999, 1
_FEWEST = 40  # resamples that vary; with fewer there is no quantile
_SAME = 1e-7  # of the error: the rounding error of a resample that has only one figure
_HALVINGS, _FURTHEST = 60, 1e4

_Bounds = tuple[float, float]


def mean(figures: Sequence[float], bases: Sequence[float]) -> _Bounds:
    """Return the interval of the figures' mean over the mean of their bases, which are 1 for a plain mean.

    Each end is the wider one of Student's interval (1908) and the bootstrap-t interval (Efron 1979; Hall 1988).
    Student's interval is too short for skewed figures, and the bootstrap's is too short for a few figures with far
    outliers.
    """
    centre, error, draws = _studentised(tuple(figures), tuple(bases))
    doubt = (1 - NOMINAL) / 2
    low = high = student(len(figures) - 1)
    if draws:
        high, low = max(high, _quantile(draws, 1 - doubt)), max(low, -_quantile(draws, doubt))
    return centre - high * error, centre + low * error


def mean_beyond(figures: Sequence[float], bases: Sequence[float], bound: float) -> float:
    """Return the probability of a mean at least as far from `bound`, on the same side, if `bound` were the true
    mean.
    """
    centre, error, draws = _studentised(tuple(figures), tuple(bases))
    if not error:
        return 0.0 if centre != bound else 1.0
    distance = (centre - bound) / error
    tail = (1 - _central(abs(distance), len(figures) - 1)) / 2
    if not draws:
        return tail
    further = len(draws) - bisect_left(draws, distance) if distance > 0 else bisect_left(draws, distance)
    return max(tail, (1 + further) / (1 + len(draws)))


def median(count: int) -> tuple[int, float]:
    """Return (k, coverage) of the interval from the k-th lowest figure to the k-th highest, counted from 0.

    Of n figures, the k-th from below and the k-th from above (from 1) hold the median between them in 1 - 2 P(B(n, 1/2)
    < k) of cases, for any distribution. The result is the shortest interval with a coverage of at least 95 %, or with
    the largest coverage that so few figures allow: 75 % for three.
    """
    skipped, outside = 0, 2 / 2**count
    while (further := outside + 2 * comb(count, skipped + 1) / 2**count) <= 1 - NOMINAL:
        skipped, outside = skipped + 1, further
    return skipped, 1 - outside


def median_beyond(figures: Sequence[float], bound: float) -> float:
    """Return the sign test's probability of this many figures on one side of `bound`, if `bound` were the median."""
    above = sum(figure > bound for figure in figures)
    most = above if middle(figures) > bound else sum(figure < bound for figure in figures)
    return sum(comb(len(figures), each) for each in range(most, len(figures) + 1)) * 0.5 ** len(figures)


def events(hits: int, count: int) -> _Bounds:
    """Return the interval of the probability of an event with `hits` in `count` trials (Clopper and Pearson 1934)."""
    return binomial.interval(hits, count, NOMINAL)


def event_beyond(hits: int, count: int, bound: float) -> float:
    """Return the probability of at least this many events, or at most this many, if each had the probability
    `bound`.
    """
    numbers = range(hits, count + 1) if hits > bound * count else range(hits + 1)
    return fsum(comb(count, each) * bound**each * (1 - bound) ** (count - each) for each in numbers)


def covers(count: int) -> float:
    """Return the minimum coverage of the interval for a mean of `count` figures, for any distribution."""
    return _COVERS[max(least for least in _COVERS if least <= count)]


@lru_cache
def student(freedom: int) -> float:
    """Return the value that Student's t with these degrees of freedom exceeds, up or down, in one case out of
    twenty.
    """
    low, high = 0.0, 20.0
    for _ in range(_HALVINGS):
        centre = (low + high) / 2
        low, high = (centre, high) if _central(centre, freedom) < NOMINAL else (low, centre)
    return round(high, 6)  # these digits are the same on every machine


def _central(distance: float, freedom: int) -> float:
    """Return P(|T| < distance) of Student's T: Abramowitz and Stegun (1964), 26.7.3 and 26.7.4."""
    sine, cosine = distance / sqrt(freedom + distance**2), sqrt(freedom / (freedom + distance**2))
    odd = freedom % 2
    term, total = (cosine if odd else 1.0), 0.0
    for step in range(1, freedom // 2 + 1):
        total += term
        term *= cosine**2 * (2 * step / (2 * step + 1) if odd else (2 * step - 1) / (2 * step))
    return 2 / pi * (atan(distance / sqrt(freedom)) + sine * total) if odd else sine * total


@lru_cache(maxsize=512)
def _studentised(figures: Sequence[float], bases: Sequence[float]) -> tuple[float, float, Sequence[float]]:
    """Return the ratio of the means, its standard error, and the sorted errors of the resamples, in standard errors.

    A resample of one repeated figure has no error, and is omitted.
    """
    centre, error = _ratio(figures, bases)
    if not error:
        return centre, error, ()
    drawn = (_ratio(*([each[at] for at in places] for each in (figures, bases))) for places in _places(len(figures)))
    draws = sorted((ratio - centre) / own for ratio, own in drawn if own > _SAME * error)
    return centre, error, draws if len(draws) >= _FEWEST else ()


def _ratio(figures: Sequence[float], bases: Sequence[float]) -> _Bounds:
    """Return the ratio of the sums, and its standard error from the residuals (Cochran 1977, 2.30)."""
    total = fsum(bases)
    ratio = fsum(figures) / total if total else 0.0
    squares = fsum((figure - ratio * base) ** 2 for figure, base in zip(figures, bases, strict=True))
    count = len(figures)
    return ratio, sqrt(squares * count / (count - 1)) / total if total else 0.0


@lru_cache(maxsize=8)
def _places(count: int) -> Sequence[Sequence[int]]:
    """Return the indices of each resample's figures. The resamples are constant, so that verdicts are reproducible."""
    chance = Random(_SEED)
    return [[int(chance.random() * count) for _ in range(count)] for _ in range(_RESAMPLES)]


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered), max(1, ceil(share * (len(ordered) + 1)))) - 1]
