"""Count verdicts, and find the prediction with the largest error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import get_args

from lab.report import wording
from lab.report.claim import Claim
from lab.spec.prediction import Kind as PredictionKind
from lab.units import Value
from lab.verdict import Kind, Result


def tally(claims: Iterable[Claim]) -> list[tuple[Kind, int]]:
    """Return the number of claims with each verdict, in the order of verdicts, without zeros."""
    kinds = [claim.verdict.kind for claim in claims]
    return [(kind, kinds.count(kind)) for kind in get_args(Kind) if kind in kinds]


def tested(claims: Iterable[Claim]) -> Iterator[tuple[Claim, Result]]:
    """Yield the virtual-time results, of every arm, that test a prediction."""
    for claim in claims:
        for result in claim.results:
            if result.accuracy and result.predicted and result.measured:
                yield claim, result


def worst(claims: Iterable[Claim], *kinds: PredictionKind) -> Result | None:
    """Return the result with the largest error of a prediction of these kinds (default: any).

    A prediction that misses its accuracy has priority, followed by an undecided prediction. A prediction of zero has no
    comparable percentage, and a figure within a predicted bound is not an error.
    """
    found = (
        result for _, result in tested(claims) if not kinds or (result.prediction and result.prediction.kind in kinds)
    )
    order = ("holds", "undecided", "off")
    return max(found, key=lambda result: (order.index(result.standing or "holds"), _error(result)), default=None)


def worst_law(claims: Iterable[Claim]) -> Result | None:
    """Return the result whose law, beside another prediction, is the furthest off, or None if no law has an error."""
    found = (result for _, result in tested(claims) if result.law and _comparable(result.law))
    return max(found, key=lambda result: abs(result.law_error or 0), default=None)


def _comparable(value: Value) -> bool:
    return value.number != 0


def _error(result: Result) -> float:
    comparable = result.predicted and result.predicted.number and not wording.bound_holds(result)
    return abs(result.model_error or 0) if comparable or result.model_is_off else 0.0
