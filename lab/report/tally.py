"""Count verdicts, and find the prediction that is furthest off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import get_args

from lab.report import html
from lab.report.claim import Claim
from lab.verdict import Kind, Result

__all__ = ["tally", "tested", "worst"]


def tally(claims: Iterable[Claim]) -> list[tuple[Kind, int]]:
    """Return how many claims have each verdict, in the order of verdicts, without those that none has."""
    kinds = [claim.verdict.kind for claim in claims]
    return [(kind, kinds.count(kind)) for kind in get_args(Kind) if kind in kinds]


def tested(claims: Iterable[Claim]) -> Iterator[tuple[Claim, Result]]:
    """Yield the results that hold a prediction to account: on every arm, in virtual time."""
    for claim in claims:
        for result in claim.results:
            if result.accuracy and result.predicted and result.measured:
                yield claim, result


def worst(claims: Iterable[Claim]) -> Result | None:
    """Return the result with the largest error of a prediction.

    One that is further off than it may be comes before all others. A prediction of zero has no error in percent that
    others could be compared with, and what a bound leaves room for is no error.
    """
    found = (result for _, result in tested(claims))
    return max(found, key=lambda result: (result.model_is_off, _error(result)), default=None)


def _error(result: Result) -> float:
    comparable = result.predicted and result.predicted.number and not html.bound_holds(result)
    return abs(result.model_error or 0) if comparable or result.model_is_off else 0.0
