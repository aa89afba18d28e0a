"""Compute a case's prediction and the prediction of the law for the same figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lab.errors import LabError
from lab.spec.case import Case
from lab.spec.prediction import Prediction
from lab.units import Value
from lab.verdict.mistake import told


@dataclass(frozen=True)
class Forecast:
    """A forecast is a figure, or the reason why there is no figure. Without a prediction, a forecast has neither."""

    value: Value | None = None
    why_not: str = ""
    instead: str = ""  # an earlier kept figure that differs from the model's
    failed: bool = False  # whether the prediction itself is wrong: it raised an error that no model raises
    made: str = ""  # the date, ISO 8601 in UTC, since which this figure has stood; "" if none was kept
    sensitivities: tuple[tuple[str, float], ...] = ()  # input -> d ln figure / d ln input

    def over(self, base: Forecast) -> Forecast:
        """Return the ratio of this figure to the figure of `base`. Raises UnitError if the units differ."""
        ratio = self.value.over(base.value) if self.value and base.value else None
        why_not, instead = self.why_not or base.why_not, self.instead or base.instead
        return Forecast(ratio, why_not, instead, self.failed or base.failed, max(self.made, base.made))


PredictCase = Callable[[Case, Prediction], Forecast]  # returns a prediction's figure for a case


def forecast(case: Case, predict: PredictCase) -> Forecast:
    """Return the forecast of the case's own prediction."""
    return _asked(case, case.prediction, predict)


def forecast_by_law(case: Case, predict: PredictCase) -> Forecast:
    """Return the forecast of a simulation's law, or the declared reason why there is no law."""
    asked = case.prediction
    if asked and asked.kind == "simulation" and not asked.law:
        return Forecast(None, asked.because)
    return _asked(case, asked.law if asked else None, predict)


def _asked(case: Case, prediction: Prediction | None, predict: PredictCase) -> Forecast:
    if prediction is None:
        return Forecast()
    try:
        return predict(case, prediction)
    except LabError as error:
        return Forecast(None, str(error))
    except Exception as error:  # noqa: BLE001  # an experiment's own code may raise any error, and the measurement must stand
        return Forecast(None, told("prediction", prediction.function, error), failed=True)
