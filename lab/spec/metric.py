"""Declare metrics. Each metric has a name, a unit, a describing sentence, and the arguments of its creation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from math import inf
from typing import Annotated, Any, Literal, ParamSpec, TypeAlias

from msgspec import Meta

from lab.errors import LabError
from lab.guest.typed import arguments
from lab.spec.steady import OverTime, Steady
from lab.units import SCALES, Value, in_unit

Measure: TypeAlias = Callable[[Any], Value]  # of a record
Statistic = Literal["mean", "median", "event"]
Quantile = Annotated[float, Meta(ge=0, le=1)]
_Decides = Callable[[Mapping[str, Any]], Statistic]
_P = ParamSpec("_P")
_PLAIN = (bool, int, float, str, type(None))


class MetricError(LabError):
    """Raised if a record does not hold the data that the metric needs."""


@dataclass(frozen=True)
class DeclaredMetric:
    """Measures one figure of a record. Call it with the record.

    The unit is "" if an argument or the record decides it. `given` holds the arguments by name. `by` is the statistic
    over several trials. The mean of minima, maxima or quantiles is not normally distributed, so such metrics use the
    median. A metric that is 1 if an event happens, and 0 otherwise, is an event metric: its figure is the share of
    trials with the event. A share has `most` 1; None: the figure has no upper limit.
    """

    name: str
    unit: str
    about: str
    given: Mapping[str, Any]
    measure: Measure
    by: Statistic = "mean"
    most: float | None = None

    def __call__(self, record: Any) -> Value:
        """Return the figure. Raises MetricError or RecordError if the record does not hold the necessary data."""
        value = self.measure(record)
        if self.unit and value.unit != self.unit:
            raise MetricError(f"{self.name} is declared {in_unit(self.unit)}, but measured {value}")
        return value

    @property
    def innermost(self) -> DeclaredMetric:
        """Return the metric that this one applies to part of a record (as `of_flow` does), else this metric itself."""
        found = self.given.get("metric")
        return described(found).innermost if found else self

    @property
    def measures_in(self) -> str:
        """Return the base unit that the metric declares, or that its argument `unit` names; "" if the record decides
        it.
        """
        found = self if self.unit else self.innermost
        given = found.given.get("unit")
        return found.unit or next((base for base, scales in SCALES.items() if given == base or given in scales), "")

    @property
    def statistic(self) -> Statistic:
        """Return the statistic over several trials."""
        return self.innermost.by

    @property
    def limits(self) -> tuple[float, float]:
        """Return the smallest and the largest possible figure. A metric with a declared unit is never negative."""
        found = self.innermost
        return (0, inf if found.most is None else found.most) if found.unit else (-inf, inf)

    @property
    def over_time(self) -> OverTime | None:
        """Return the measure if it is a mean over time, else None."""
        return self.measure if isinstance(self.measure, OverTime) else None

    def cut_by(self, steady: Steady) -> DeclaredMetric:
        """Return the metric over the long run if it is a mean over time without start and end, else this metric."""
        over = self.over_time
        if over is None or over.is_timed:
            return self
        return replace(self, measure=over.cut_by(steady), given={**self.given, "steady": str(steady)})

    def plain(self) -> dict[str, Any]:
        """Return the arguments that are numbers, text, booleans or None, by name, with those of the inner metric."""
        own = {key: value for key, value in self.given.items() if isinstance(value, _PLAIN)}
        if self.over_time:
            own = {key: value for key, value in own.items() if value is not None}
        inner = self.innermost
        return dict(sorted(((inner.plain() if inner is not self else {}) | own).items()))

    def call(self) -> str:
        """Return the Python call that creates the metric, with all plain arguments that are not None."""
        values = ", ".join(f"{key}={value!r}" for key, value in self.plain().items() if value is not None)
        return f"{self.name}({values})"


def measures(
    unit: str = "", by: Statistic | _Decides = "mean", most: float | None = None
) -> Callable[[Callable[_P, Measure]], Callable[_P, DeclaredMetric]]:
    """Return a decorator for a function that creates a metric.

    The decorator sets the unit, the statistic over several trials, and the largest possible figure. The arguments may
    decide the statistic. The decorated function raises FieldError for a wrong argument.
    """

    def declare(make: Callable[_P, Measure]) -> Callable[_P, DeclaredMetric]:
        checked, about = arguments(make), " ".join(inspect.getdoc(make).split()).split(". ")[0].rstrip(".")  # type: ignore[union-attr]

        @wraps(make)
        def made(*args: _P.args, **kwargs: _P.kwargs) -> DeclaredMetric:
            measure = checked(*args, **kwargs)
            bound = inspect.signature(make).bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.arguments
            statistic = by(given) if callable(by) else by
            return DeclaredMetric(make.__name__, unit, about, dict(given), measure, statistic, most)

        return made

    return declare


def described(metric: Callable[..., Any]) -> DeclaredMetric:
    """Return the declared metric. For an experiment's own function, create a metric from its name and first
    sentence.
    """
    if isinstance(metric, DeclaredMetric):
        return metric
    name = getattr(metric, "__qualname__", type(metric).__name__).split(".")[0]
    about = " ".join((inspect.getdoc(metric) or "").split()).split(". ")[0].rstrip(".")
    return DeclaredMetric(name, "", about, {}, metric)
