"""Judge a measured figure against a reported one and a tolerance. A verdict gives its reason in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal, Protocol

from lab.units import UnitError, Value, in_unit
from lab.verdict.correction import LEVEL, holm

Kind = Literal[
    "reproduced", "partly", "not reproduced", "not testable as stated", "inconclusive", "measured", "invalid", "skipped"
]
NO_VERDICT: frozenset[Kind] = frozenset({"invalid", "skipped"})  # the kinds that do not answer the claim
_Beyond = Callable[[float], float]


class JudgedTolerance(Protocol):
    """A tolerance limits the distance of a measurement from a claim's figure."""

    @property
    def sign(self) -> str:
        """The sign before a figure that is a bound: '≤ '; '' if it is not a bound."""
        ...

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return the smallest and the largest figure that agree with `figure`."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict is the trials' answer to a claim, with the reason."""

    kind: Kind
    reason: str
    chance: float | None = None  # the probability of such figures if the true one agreed; None if they are exact


def judge(
    claimed: Value, measured: Value, tolerance: JudgedTolerance, word: str = "reported", beyond: _Beyond | None = None
) -> Verdict:
    """Return whether the measurement's interval agrees with the claim: as a whole, not at all, or only in part.

    `word` is the kind of the claimed figure: reported or implied. `beyond(bound)` is the probability of the measured
    figures if the true figure were `bound`; None if the figure is exact. Raises UnitError if the units differ.
    """
    if claimed.unit != measured.unit:
        theirs, ours = in_unit(claimed.unit), in_unit(measured.unit)
        raise UnitError(f"a measurement {ours} cannot be compared with a figure {theirs}")
    least, most = _accepted(claimed, tolerance)
    low, high = measured.bounds
    agrees = 1.0 if beyond else None
    least_known = "at least " if low == measured.number and high == inf else ""
    against = f"{least_known}{measured} measured, {claimed} {word}, {tolerance}"
    if least <= low and high <= most:
        return Verdict("reproduced", against, agrees)
    if high < least or most < low:
        return Verdict("not reproduced", against, beyond(most if most < low else least) if beyond else None)
    return Verdict("inconclusive", f"{against}: the interval straddles the bound", agrees)


def depends(kinds: Iterable[Kind]) -> bool:
    """Return whether there are different answers to the same claim. No verdict is not an answer."""
    return len({*kinds} - NO_VERDICT) > 1


def combine(verdicts: Sequence[tuple[str, Verdict]]) -> Verdict:
    """Combine the verdicts on the (named) arms of a claim into one. An untested arm prevents "reproduced".

    The first of these verdicts decides: not reproduced, inconclusive, invalid, skipped, reproduced. If a claim has
    several arms, an arm contradicts it only if the arm's figure is further out than chance explains for any arm (Holm's
    correction).
    """
    verdicts = _corrected(verdicts)
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

    If one part held, and another part did not or cannot be tested by any trial, the sentence held partly. Otherwise,
    the worst part decides: if a part was not tested, the other parts cannot represent the whole sentence.
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


def model_error(predicted: Value | None, measured: Value | None) -> float | None:
    """Return the ratio of the larger figure to the smaller one, minus 1; negative if the prediction is the smaller one.

    The error is ln(predicted / measured), expressed as a share, so that neither direction is favoured. A prediction is
    within 5 % (`Within`) if this error is at most 0.05. For a prediction with bounds, the nearest figure between them
    counts. The result is 0 if both figures are equal, and None if the ratio is undefined.
    """
    if predicted is None or measured is None or predicted.unit != measured.unit:
        return None
    low, high = predicted.bounds
    nearest = min(max(measured.number, low), high)
    if nearest == measured.number:
        return 0.0
    if nearest * measured.number <= 0:
        return None
    larger, smaller = sorted((abs(nearest), abs(measured.number)), reverse=True)
    error = larger / smaller - 1
    return (error if nearest > measured.number else -error) if isfinite(error) else None


def _accepted(claimed: Value, tolerance: JudgedTolerance) -> tuple[float, float]:
    """Return the smallest and the largest figure that agree with any figure between the bounds of the claimed
    figure.
    """
    ends = [tolerance.bounds(Value(end, claimed.unit)) for end in claimed.bounds]
    return min(least for least, _ in ends), max(most for _, most in ends)


def _corrected(verdicts: Sequence[tuple[str, Verdict]]) -> list[tuple[str, Verdict]]:
    """Return the verdicts, corrected for the number of arms.

    An arm whose figure is no further out than chance explains for this many arms leaves the claim open.
    """
    tests = [verdict.chance for _, verdict in verdicts if verdict.chance is not None]
    found = iter(holm(tests))
    return [
        (name, verdict if verdict.chance is None else _doubted(verdict, next(found), len(tests)))
        for name, verdict in verdicts
    ]


def _doubted(verdict: Verdict, chance: float, tests: int) -> Verdict:
    if verdict.kind != "not reproduced" or chance <= LEVEL:
        return verdict
    said = f"one of {tests} arms is as far out by chance in {100 * chance:.2g} % of cases"
    return Verdict("inconclusive", f"{verdict.reason}: {said}", chance)
