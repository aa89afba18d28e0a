"""Judge a measured figure against a reported one and a tolerance: a verdict has its reason in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, inf, isfinite, sqrt
from statistics import fmean, stdev
from statistics import median as middle
from typing import Literal, Protocol

from lab.units import UnitError, Value

__all__ = ["Kind", "Tolerance", "Verdict", "combine", "judge", "mean", "median", "model_error", "sum_up"]

Kind = Literal["reproduced", "partly", "not reproduced", "not testable as stated", "inconclusive", "invalid", "skipped"]

# Student's t, two-sided 95 %, for 1 to 30 degrees of freedom; above, the normal distribution's bound is close enough.
_T95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


class Tolerance(Protocol):
    """A tolerance says how far a measurement may lie from a claim's figure."""

    @property
    def sign(self) -> str:
        """Return the sign before a figure that is a bound: '≤ '; '' where it is none."""
        ...

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return the least and the most that agrees with `figure`."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict is what a trial says of a claim, and why."""

    kind: Kind
    reason: str


def judge(claimed: Value, measured: Value, tolerance: Tolerance, word: str = "reported") -> Verdict:
    """Judge whether the measurement agrees with the claim: all of its interval does, none of it, or neither.

    `word` says what the claimed figure is, reported or implied. Raises UnitError when the two have different units.
    """
    if claimed.unit != measured.unit:
        raise UnitError(f"a measurement in {measured.unit} says nothing about a figure in {claimed.unit}")
    least, most = tolerance.bounds(claimed)
    low, high = measured.bounds
    against = f"{measured} measured, {claimed} {word}, {tolerance}"
    if least <= low and high <= most:
        return Verdict("reproduced", against)
    if high < least or most < low:
        return Verdict("not reproduced", against)
    return Verdict("inconclusive", f"{against}: the interval straddles the bound")


def combine(verdicts: Sequence[tuple[str, Verdict]]) -> Verdict:
    """Combine the verdicts on the (named) arms of a claim into one; what was not tested keeps it from being reproduced.

    The weightiest decides: not reproduced, inconclusive, invalid, skipped, reproduced.
    """
    order: tuple[Kind, ...] = ("not reproduced", "inconclusive", "invalid", "skipped", "reproduced")
    for kind in order:
        having = [
            f"{name}: {verdict.reason}" if name else verdict.reason
            for name, verdict in verdicts
            if verdict.kind == kind
        ]
        if having:
            return Verdict(kind, "; ".join(having))
    return Verdict("skipped", "no arm that counts was run")


def sum_up(parts: Sequence[tuple[str, Verdict]]) -> Verdict:
    """Sum up the verdicts on the named parts of a sentence.

    Where some part held and another did not, or no trial can test it, the sentence held partly. Else the worst part
    decides: a part that was not tested keeps the others from standing for the whole.
    """
    kinds = {verdict.kind for _, verdict in parts}
    said = "; ".join(
        f"{name}: {verdict.kind}" + ("" if verdict.kind == "reproduced" else f" ({verdict.reason})")
        for name, verdict in parts
    )
    if {"reproduced", "not reproduced"} <= kinds:
        return Verdict("partly", said)
    order: tuple[Kind, ...] = ("not reproduced", "inconclusive", "invalid", "skipped")
    for kind in order:
        if kind in kinds:
            return Verdict(kind, said)
    if {"reproduced", "not testable as stated"} <= kinds:
        return Verdict("partly", said)
    return Verdict(kinds.pop() if kinds else "skipped", said)


def mean(values: Sequence[Value]) -> Value:
    """Return the mean of repeats, with its 95 % interval by Student's t; exact when all are equal or there is only one.

    Raises UnitError when they have different units, or there are none.
    """
    numbers = [value.number for value in values]
    units = {value.unit for value in values}
    if len(units) != 1:
        raise UnitError(f"no mean of values in {', '.join(sorted(units)) or 'no unit: there are none'}")
    centre, unit = fmean(numbers), units.pop()
    if len(set(numbers)) == 1:
        return Value(numbers[0], unit)
    freedom = len(numbers) - 1
    half = (_T95[freedom - 1] if freedom <= len(_T95) else 1.96) * stdev(numbers) / sqrt(len(numbers))
    return Value(centre, unit, centre - half, centre + half, 0.95)


def median(values: Sequence[Value]) -> Value:
    """Return the median of repeats in real time, with its interval by order statistics: none of them is dropped.

    Of n repeats in order, the k-th from below and from above hold the distribution's median between them in 1 - 2
    P(B(n, 1/2) < k) of cases, whatever the distribution: that is the interval's coverage, the least of at least 95 %.
    Fewer than six cannot reach 95 %: then all of them are the interval, with the coverage that they have, 75 % for
    three. It is exact when all are equal or there is only one. Where the figures have bounds of their own, the interval
    goes from that one of the lower bounds to that one of the upper bounds. Raises UnitError when they have different
    units, or there are none.
    """
    units = {value.unit for value in values}
    if len(units) != 1:
        raise UnitError(f"no median of values in {', '.join(sorted(units)) or 'no unit: there are none'}")
    numbers, unit = sorted(value.number for value in values), units.pop()
    lows, highs = (sorted(ends) for ends in zip(*(value.bounds for value in values), strict=True))
    if lows[0] == highs[-1]:
        return Value(numbers[0], unit)
    low, outside = 0, 2 / 2 ** len(numbers)
    while (further := outside + 2 * comb(len(numbers), low + 1) / 2 ** len(numbers)) <= 0.05:
        low, outside = low + 1, further
    coverage = 1 - outside if len(numbers) > 1 else None
    return Value(middle(numbers), unit, lows[low], highs[-1 - low], coverage)


def model_error(predicted: Value | None, measured: Value | None) -> float | None:
    """Return (predicted - measured) / measured; 0 when both are equal, None when there is no such ratio."""
    if predicted is None or measured is None or predicted.unit != measured.unit:
        return None
    if predicted.number == measured.number:
        return 0.0
    error = (predicted.number - measured.number) / measured.number if measured.number else inf
    return error if isfinite(error) else None
