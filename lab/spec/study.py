"""Define `Study`, with which a researcher declares trials and figures without a claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from lab.spec.arms import Arm, FigureSpec, Metric, Trials
from lab.spec.claimed import ModelMiss, Untestable
from lab.spec.prediction import Predictor
from lab.spec.tolerance import Tolerance

_CLAIM = ("claimed", "explains", "tolerance", "metric", "prediction")  # fields of an arm that tests a claim


@dataclass(frozen=True, kw_only=True)
class Study(Trials):
    """Declares trials and the figures to measure. No claim is judged. Every arm gives every figure at every point.

    `metrics` is one metric, or a dict of metrics with the names of their figures as keys. `predictions` has the same
    form, and may leave figures out. Raises ValueError for the mistakes that `Trials` refuses, for an arm or a point
    with a field that belongs to a claim, and for a prediction of an unknown figure.
    """

    judges: ClassVar[bool] = False
    metrics: Metric | Mapping[str, Metric]
    predictions: Predictor | Mapping[str, Predictor] | None = None
    # how far predictions may be from the measurements; None: the error is shown but not judged
    accuracy: Tolerance | None = None
    # the values that a reader of claims sees
    expect: ClassVar[Literal["measured"]] = "measured"
    other_seeds: ClassVar[tuple[Literal["measured"], ...]] = ()
    other_machines: ClassVar[tuple[Literal["measured"], ...]] = ()
    untestable: ClassVar[tuple[Untestable, ...]] = ()
    unexplained: ClassVar[str] = ""
    misses: ClassVar[tuple[ModelMiss, ...]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for arm in self.arms:
            if having := [name for name in _CLAIM if getattr(arm, name) is not None]:
                raise ValueError(f"arm '{arm.name}' has {having[0]}=, but a study judges no claim; use Experiment")
        if any(point and point.claimed for point in self.points):
            raise ValueError("a point has claimed=, but a study judges no claim; use Experiment")
        if not self._metrics:
            raise ValueError("metrics: there is none; name at least one metric")
        if unknown := self._predictions.keys() - self._metrics.keys():
            known = ", ".join(self._metrics) or "the only figure"
            raise ValueError(f"predictions: '{min(unknown)}' is not a figure; use {known}")

    @property
    def _metrics(self) -> Mapping[str, Metric]:
        return self.metrics if isinstance(self.metrics, Mapping) else {"": self.metrics}

    @property
    def _predictions(self) -> Mapping[str, Predictor]:
        if self.predictions is None:
            return {}
        return self.predictions if isinstance(self.predictions, Mapping) else {"": self.predictions}

    def figures(self, arm: Arm) -> Iterator[FigureSpec]:
        """Yield the study's figures. An arm may have its own accuracy."""
        for name, metric in self._metrics.items():
            yield FigureSpec(name, metric, self._predictions.get(name), None, arm.accuracy or self.accuracy)
