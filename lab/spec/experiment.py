"""Provide the words in which an experiment declares a claim: what to build, run, measure, predict and expect.

An experiment file says its claim in its docstring and defines one `EXPERIMENT`. Nothing here runs anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lab.prediction import Prediction, Predictor
from lab.spec.changes import Changes
from lab.spec.clock import CLOCKS, Clock
from lab.spec.task import Interference, Task, Traffic
from lab.spec.tolerance import Absolute, AtLeast, AtMost, Below, Exactly, Figure, Tolerance, Within
from lab.units import Value

__all__ = [
    "Absolute",
    "Arm",
    "AtLeast",
    "AtMost",
    "Below",
    "Changes",
    "Exactly",
    "Expected",
    "Experiment",
    "Figure",
    "Metric",
    "Point",
    "Prediction",
    "Sweep",
    "Tolerance",
    "Variant",
    "Within",
]

Metric = Callable[[Any], Value]  # takes a record
Expected = Literal["reproduced", "not reproduced"]


@dataclass(frozen=True)
class Variant:
    """Describes a kernel that differs from the run's only by patches or by its HZ."""

    patches: tuple[str, ...] = ()  # files in the experiment's own folder
    hz: int | None = None


@dataclass(frozen=True)
class Arm(Changes):
    """Describes one variant of the experiment: what it changes in the topology, and the article's figure for it.

    What is left at None from `workload` on is the experiment's.
    """

    name: str
    # the article's figure, or one for each value of the sweep that the article has
    reported: Figure | Mapping[Figure, Figure] | None = None
    # why the arm is there, when it does not count for the verdict
    explains: str = ""
    workload: Traffic | None = None
    probes: tuple[Task, ...] | None = None
    middleboxes: tuple[Interference, ...] | None = None
    metric: Metric | None = None
    prediction: Predictor | None = None  # a `Prediction`, or a function that declares no kind
    tolerance: Tolerance | None = None
    accuracy: Tolerance | None = None
    # the arm whose figures, at the same point, this one's are ratios to
    relative_to: str = ""
    kernel: Variant | None = None
    clock: Clock | None = None
    samples: int | None = None

    def __post_init__(self) -> None:
        _check_name("arm", self.name)
        for figure in self.reported.values() if isinstance(self.reported, Mapping) else (self.reported,):
            _check_figure(figure)


@dataclass(frozen=True)
class Point(Changes):
    """Describes one value of a sweep: its changes to the topology, or its workload, and the article's figure there."""

    value: Figure
    reported: Figure | None = None
    workload: Traffic | None = None

    def __post_init__(self) -> None:
        _check_figure(self.value)
        _check_figure(self.reported)

    @property
    def label(self) -> str:
        """The value as the experiment wrote it, which names the point."""
        return str(self.value)


@dataclass(frozen=True)
class Sweep:
    """Varies one quantity: every arm runs at every point."""

    axis: str  # as the plot names it: 'limit, frames'
    points: tuple[Point, ...]

    def __post_init__(self) -> None:
        _check_unique("point", [point.label for point in self.points])
        units = {Value.of(point.value).unit for point in self.points}
        if len(units) > 1:
            raise ValueError(f"the points of a sweep should have one unit, not {' and '.join(sorted(units))}")

    @property
    def unit(self) -> str:
        """The unit of the sweep's values: bit/s, s, B or 1."""
        return Value.of(self.points[0].value).unit


@dataclass(frozen=True, kw_only=True)
class Experiment(Changes):
    """Declares a claim as a trial can test it. Every arm runs at every point of the sweep.

    What the experiment itself changes in the topology holds for every arm. Raises ValueError when there is no arm, two
    arms share a name, an arm is relative to one that does not exist, or no arm that counts has a figure of the
    article.
    """

    # a file of topologies/, a path from the experiment's own folder, or Mininet's Topo class (or a function making one)
    topology: str | Callable[[], Any]
    workload: Traffic
    metric: Metric
    tolerance: Tolerance
    prediction: Predictor | None = None  # a `Prediction`, or a function that declares no kind
    # how far the prediction may lie from the measurement, in virtual time; None: it must be exact where the tolerance
    # is exact, and within 0.5 % elsewhere
    accuracy: Tolerance | None = None
    probes: tuple[Task, ...] = ()
    # what changes packets on their way
    middleboxes: tuple[Interference, ...] = ()
    arms: tuple[Arm, ...]
    sweep: Sweep | None = None
    kernel: Variant | None = None
    clock: Clock = "virtual"
    # how often a trial runs: in virtual time with as many seeds, in real time as it is
    samples: int = 1
    # from sender to receiver: what the prediction is about
    path: tuple[str, str] = ("sender", "receiver")
    expect: Expected = "reproduced"

    def __post_init__(self) -> None:
        _check_unique("arm", [arm.name for arm in self.arms])
        if self.expect not in ("reproduced", "not reproduced"):
            raise ValueError(f"expect='{self.expect}' should be 'reproduced' or 'not reproduced'")
        plain = {arm.name for arm in self.arms if not arm.relative_to}
        for arm in self.arms:
            if arm.relative_to and arm.relative_to not in plain:
                raise ValueError(
                    f"arm '{arm.name}' is relative to '{arm.relative_to}', which is no arm with own figures"
                )
            if arm.clock not in (None, *CLOCKS):
                raise ValueError(f"arm '{arm.name}': clock='{arm.clock}' should be 'virtual' or 'real'")
        if self.clock not in CLOCKS:
            raise ValueError(f"clock='{self.clock}' should be 'virtual' or 'real'")
        if any(samples < 1 for samples in (self.samples, *(arm.samples or 1 for arm in self.arms))):
            raise ValueError("samples should be at least 1")
        values = {point.value for point in self.points if point}
        for arm in self.arms:
            if isinstance(arm.reported, Mapping) and not arm.reported.keys() <= values:
                unknown = ", ".join(sorted(map(str, arm.reported.keys() - values)))
                raise ValueError(f"arm '{arm.name}' has a figure for {unknown}, which is no point of the sweep")
        figures = [(arm, self.reported(arm, point)) for arm in self.arms for point in self.points]
        if all(arm.explains or figure is None for arm, figure in figures):
            raise ValueError("no arm that counts says what the article reported")
        for arm, figure in figures:
            if figure is not None:
                (arm.tolerance or self.tolerance).bounds(figure)

    @property
    def points(self) -> tuple[Point | None, ...]:
        """The points of the sweep; (None,) without a sweep."""
        return self.sweep.points if self.sweep else (None,)

    @property
    def axis(self) -> str:
        """The sweep's axis, as its plot names it; '' without a sweep."""
        return self.sweep.axis if self.sweep else ""

    def reported(self, arm: Arm, point: Point | None) -> Value | None:
        """Return the article's figure: the arm's for that point, else the point's, else the arm's, else None."""
        if isinstance(arm.reported, Mapping):
            figure = arm.reported.get(point.value) if point else None
        else:
            figure = arm.reported if point is None or point.reported is None else point.reported
        return None if figure is None else Value.of(figure)


def _check_name(what: str, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise ValueError(f"'{name}' does not name an {what}: use letters, digits, '.', '-' and '_'")


def _check_figure(figure: Figure | None) -> None:
    if figure is not None:
        Value.of(figure)


def _check_unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two {what}s are called '{name}'")
        seen.add(name)
    if not seen:
        raise ValueError(f"there is no {what}: name at least one")
