"""Compute the skill of a prediction, which compares its error with the error of a single figure for all arms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum, log
from typing import Protocol

from lab.spec.prediction import Prediction
from lab.units import Value

_EQUAL = 0.01  # measured figures that differ by less leave nothing to explain


class _Predicted(Protocol):
    """Holds a predicted figure, its prediction, and the measured figure."""

    @property
    def prediction(self) -> Prediction | None: ...
    @property
    def predicted(self) -> Value | None: ...
    @property
    def measured(self) -> Value | None: ...


def skills(results: Iterable[_Predicted]) -> Mapping[str, float]:
    """Return the skill, by name, of each prediction that has several different measured figures in one unit.

    The skill is 1 minus the sum of ln(predicted / measured)^2 over the sum of ln(mean / measured)^2. The skill is 1 if
    every prediction equals its measured figure, 0 if the geometric mean of the measured figures has the same error, and
    negative if that mean has a smaller error. The mean is known only after the trials, so it is the best of all naive
    laws.
    """
    held: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for result in results:
        asked, predicted, measured = result.prediction, result.predicted, result.measured
        if asked and predicted and measured and min(predicted.number, measured.number) > 0:
            held.setdefault((asked.name, measured.unit), []).append((log(predicted.number), log(measured.number)))
    found = {name: _skill(pairs) for (name, _), pairs in held.items()}
    return {name: skill for name, skill in found.items() if skill is not None}


def _skill(pairs: list[tuple[float, float]]) -> float | None:
    """Return the skill of (ln predicted, ln measured); None if all measured figures are about the same."""
    seen = [measured for _, measured in pairs]
    if max(seen) - min(seen) < _EQUAL:
        return None
    mean = fsum(seen) / len(seen)
    spread = fsum((measured - mean) ** 2 for measured in seen)
    return 1 - fsum((predicted - measured) ** 2 for predicted, measured in pairs) / spread
