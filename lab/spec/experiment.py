"""Provide the words in which an experiment declares a claim: what to build, run, measure, predict and expect.

An experiment file states its claim in its docstring and defines one `EXPERIMENT`. This module runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from lab.spec.arms import Arm, FigureSpec, Metric, Point, Programs, Sweep, Trials, Variant, check_unique
from lab.spec.cause import Cause, Consistent, Demonstrated, Refutes
from lab.spec.changes import Changes
from lab.spec.claimed import Claimed, Implied, ModelMiss, Reported, Untestable
from lab.spec.drawn import Drawn
from lab.spec.prediction import Prediction, Predictor
from lab.spec.steady import Steady
from lab.spec.tolerance import (
    Above,
    Absolute,
    AtLeast,
    AtMost,
    Below,
    Exactly,
    Figure,
    Odds,
    Tolerance,
    Within,
    accuracy_for,
)

__all__ = [
    "Above",
    "Absolute",
    "Arm",
    "AtLeast",
    "AtMost",
    "Below",
    "Cause",
    "Changes",
    "Claimed",
    "Consistent",
    "Demonstrated",
    "Drawn",
    "Exactly",
    "Expected",
    "Experiment",
    "Figure",
    "Implied",
    "Metric",
    "ModelMiss",
    "Odds",
    "Point",
    "Prediction",
    "Programs",
    "Refutes",
    "Reported",
    "Steady",
    "Sweep",
    "Tolerance",
    "Untestable",
    "Variant",
    "Within",
]

Expected = Literal["reproduced", "partly", "not reproduced", "not testable as stated", "inconclusive"]


@dataclass(frozen=True, kw_only=True)
class Experiment(Trials):
    """Declares a claim in a form that trials can test. Every arm runs at every point of the sweep.

    The experiment's own changes to the topology apply to every arm. Raises ValueError if there is no arm, two arms
    share a name, an arm is relative to a missing arm, no arm except witnesses has a claimed figure, only some of these
    arms name their part of the sentence, an expected verdict is impossible, or a known miss names a missing arm.
    """

    judges: ClassVar[bool] = True
    metric: Metric
    tolerance: Tolerance
    prediction: Predictor | None = None  # a `Prediction`, or a function that declares no kind
    # how far the prediction may be from the measurement in virtual time; None: exact if the tolerance is exact, else
    # within 0.5 %
    accuracy: Tolerance | None = None
    # the parts of the sentence that no trial can test as stated
    untestable: tuple[Untestable, ...] = ()
    # the cause that no arm explains yet, and why it is open
    unexplained: str = ""
    expect: Expected = "reproduced"
    # further verdicts that may result with other seeds than the first: the verdict depends on the seed
    other_seeds: tuple[Expected, ...] = ()
    # further verdicts that may result on other machines: an arm that counts runs in real time
    other_machines: tuple[Expected, ...] = ()
    # the arms whose predictions are known to miss their accuracy
    misses: tuple[ModelMiss, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        values = {point.value for point in self.points if point}
        for arm in self.arms:
            if isinstance(arm.claimed, Mapping) and not arm.claimed.keys() <= values:
                unknown = ", ".join(sorted(map(str, arm.claimed.keys() - values)))
                raise ValueError(f"arm '{arm.name}' has a figure for {unknown}, which is not a point of the sweep")
            if isinstance(arm.explains, Consistent):
                for name in arm.explains.between:
                    if name not in {other.name for other in self.arms}:
                        raise ValueError(f"arm '{arm.name}': between='{name}' is not an arm")
        for miss in self.misses:
            if miss.arm not in {arm.name for arm in self.arms}:
                raise ValueError(f"misses: '{miss.arm}' is not an arm")
        for arm in self.arms:
            for point in self.points:
                if (claimed := self.claimed(arm, point)) is not None:
                    (arm.tolerance or self.tolerance).bounds(claimed.value)
        self._check_parts()

    def _check_parts(self) -> None:
        """Raise ValueError if only some arms name a part of the sentence, or if `expect` cannot be the verdict."""
        found = [self.claimed(arm, point) for arm in self.arms if not arm.explains for point in self.points]
        named = [claimed.part for claimed in found if claimed]
        if not named and not self.untestable:
            raise ValueError("no arm that counts has a figure: claimed=Reported(...) or Implied(...)")
        if (any(named) or self.untestable) and not all(named):
            raise ValueError("some arms that count name a part of the sentence and others do not; give each part='...'")
        parts = dict.fromkeys(named)
        check_unique("part", [*parts, *(each.part for each in self.untestable)])
        if "partly" in (self.expect, *self.other_seeds, *self.other_machines) and len(parts) + len(self.untestable) < 2:
            raise ValueError("expect='partly' needs several parts: Reported(figure, quote, part='...')")
        if self.expect == "not testable as stated" and (named or not self.untestable):
            raise ValueError("expect='not testable as stated' needs untestable=... and no arm that counts")
        for name, others in (("other_seeds", self.other_seeds), ("other_machines", self.other_machines)):
            if self.expect in others or len({*others}) < len(others):
                raise ValueError(f"{name} names a verdict twice, or repeats expect=; name each verdict once")
        if self.other_seeds and all((arm.samples or self.samples) == 1 for arm in self.arms):
            raise ValueError("other_seeds needs samples=...; without samples, all seeds give the same figures")
        if self.other_machines and not any(
            (arm.clock or self.clock) == "real" and not arm.explains for arm in self.arms
        ):
            raise ValueError(
                "other_machines needs an arm that counts and has clock='real'; in virtual time, all machines "
                "give the same figures"
            )

    def figures(self, arm: Arm) -> Iterator[FigureSpec]:
        """Yield the figure that an arm gives. Default for its bounds: the experiment's bounds."""
        tolerance = arm.tolerance or self.tolerance
        accuracy = arm.accuracy or self.accuracy or accuracy_for(tolerance)
        yield FigureSpec("", arm.metric or self.metric, arm.prediction or self.prediction, tolerance, accuracy)
