"""Ask a prediction, and the law beside it, for a case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lab.errors import LabError
from lab.prediction import Prediction
from lab.spec.case import Case
from lab.units import Value

__all__ = ["Forecast", "Predict", "forecast", "forecast_by_law"]


@dataclass(frozen=True)
class Forecast:
    """A forecast is a figure, or the reason why there is none; neither where nothing was asked."""

    value: Value | None = None
    why_not: str = ""
    made: str = ""  # the date, ISO 8601 in UTC, since which this figure has stood; "" where none was kept

    def over(self, base: Forecast) -> Forecast:
        """Return the ratio of this figure to `base`'s. Raises UnitError for other units."""
        ratio = self.value.over(base.value) if self.value and base.value else None
        return Forecast(ratio, self.why_not or base.why_not, max(self.made, base.made))


Predict = Callable[[Case, Prediction], Forecast]  # asks a prediction for a case


def forecast(case: Case, predict: Predict) -> Forecast:
    """Return what the case's own prediction says."""
    return _asked(case, case.prediction, predict)


def forecast_by_law(case: Case, predict: Predict) -> Forecast:
    """Return what the law beside a simulation says; the declared reason where there is none."""
    asked = case.prediction
    if asked and asked.kind == "simulation" and not asked.law:
        return Forecast(None, asked.because)
    return _asked(case, asked.law if asked else None, predict)


def _asked(case: Case, prediction: Prediction | None, predict: Predict) -> Forecast:
    if prediction is None:
        return Forecast()
    try:
        return predict(case, prediction)
    except LabError as error:
        return Forecast(None, str(error))
