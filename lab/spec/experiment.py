"""Provide the words in which an experiment declares a claim: what to build, run, measure, predict and expect.

An experiment file says its claim in its docstring and defines one `EXPERIMENT`. Nothing here runs anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lab.prediction import Prediction, Predictor
from lab.spec.cause import Cause, Consistent, Demonstrated, Refutes
from lab.spec.changes import Changes
from lab.spec.claimed import Claimed, Implied, Reported, Untestable
from lab.spec.clock import CLOCKS, Clock
from lab.spec.task import Interference, Task, Traffic
from lab.spec.tolerance import Above, Absolute, AtLeast, AtMost, Below, Exactly, Figure, Tolerance, Within
from lab.units import Value

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
    "Exactly",
    "Expected",
    "Experiment",
    "Figure",
    "Implied",
    "Metric",
    "Point",
    "Prediction",
    "Programs",
    "Refutes",
    "Reported",
    "Sweep",
    "Tolerance",
    "Untestable",
    "Variant",
    "Within",
]

Metric = Callable[[Any], Value]  # takes a record
Expected = Literal["reproduced", "partly", "not reproduced", "not testable as stated"]
Programs = Literal["guest", "programs"]  # the locked userlands that guests can boot from
MOST_SAMPLES = 10_000  # of an arm: days of computing, and a plan that still fits into memory


@dataclass(frozen=True)
class Variant:
    """Describes a kernel that differs from the run's by patches, configuration or HZ; or is built from another tree.

    Files are named from the experiment's own folder.
    """

    patches: tuple[str, ...] = ()
    hz: int | None = None
    config: tuple[str, ...] = ()  # fragments: lines of a .config, over the lab's
    tree: str = ""  # a folder with a kernel's source, "~/linux"; it takes the place of the run's


@dataclass(frozen=True)
class Arm(Changes):
    """Describes one variant of the experiment: what it changes in the topology, and the claim's figure for it.

    What is left at None from `workload` on is the experiment's.
    """

    name: str
    # the claim's figure, or one for each value of the sweep that the article has one for
    claimed: Claimed | Mapping[Figure, Claimed] | None = None
    # what the arm is a witness of, when it does not count for the verdict
    explains: Cause | None = None
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
    # why fewer than ten samples do though wires lose, delay, reorder or duplicate frames by chance
    few_samples: str = ""
    # what pages call the arm; its name with spaces for hyphens unless given. It is no part of a trial's address
    title: str = ""

    def __post_init__(self) -> None:
        _check_name("arm", self.name)
        for claimed in self.claimed.values() if isinstance(self.claimed, Mapping) else (self.claimed,):
            _check_claimed(claimed)
        if self.explains is not None and not isinstance(self.explains, Cause):
            raise ValueError(f"arm '{self.name}': explains= takes Demonstrated, Consistent or Refutes")


@dataclass(frozen=True)
class Point(Changes):
    """Describes one value of a sweep: its changes to the topology, or its workload, and the claim's figure there."""

    value: Figure
    claimed: Claimed | None = None
    workload: Traffic | None = None

    def __post_init__(self) -> None:
        Value.of(self.value)
        _check_claimed(self.claimed)

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
    arms share a name, an arm is relative to one that does not exist, no arm that counts has a figure of the claim,
    only some of them name their part of the sentence, or the expected verdict cannot come.
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
    # what its guests boot from where they do not use the host's own programs: `programs` has more applications
    userland: Programs = "guest"
    clock: Clock = "virtual"
    # how often a trial runs: in virtual time with as many seeds, in real time as it is
    samples: int = 1
    few_samples: str = ""
    # from sender to receiver: what the prediction is about
    path: tuple[str, str] = ("sender", "receiver")
    # the parts of the sentence that no trial can test as they stand
    untestable: tuple[Untestable, ...] = ()
    # what no arm explains yet: the cause that is open, and why
    unexplained: str = ""
    expect: Expected = "reproduced"

    def __post_init__(self) -> None:
        _check_unique("arm", [arm.name for arm in self.arms])
        if self.expect not in get_args(Expected):
            raise ValueError(f"expect='{self.expect}' should be one of {', '.join(map(repr, get_args(Expected)))}")
        plain = {arm.name for arm in self.arms if not arm.relative_to}
        for arm in self.arms:
            if arm.relative_to and arm.relative_to not in plain:
                raise ValueError(
                    f"arm '{arm.name}' is relative to '{arm.relative_to}', which is no arm with own figures"
                )
            if arm.clock not in (None, *CLOCKS):
                raise ValueError(f"arm '{arm.name}': clock='{arm.clock}' should be 'virtual' or 'real'")
        if self.userland not in get_args(Programs):
            raise ValueError(f"userland='{self.userland}' should be one of {', '.join(map(repr, get_args(Programs)))}")
        if self.clock not in CLOCKS:
            raise ValueError(f"clock='{self.clock}' should be 'virtual' or 'real'")
        if any(
            not 1 <= samples <= MOST_SAMPLES for samples in (self.samples, *(arm.samples or 1 for arm in self.arms))
        ):
            raise ValueError(f"samples should be from 1 to {MOST_SAMPLES:,}")
        values = {point.value for point in self.points if point}
        for arm in self.arms:
            if isinstance(arm.claimed, Mapping) and not arm.claimed.keys() <= values:
                unknown = ", ".join(sorted(map(str, arm.claimed.keys() - values)))
                raise ValueError(f"arm '{arm.name}' has a figure for {unknown}, which is no point of the sweep")
            if isinstance(arm.explains, Consistent):
                for name in arm.explains.between:
                    if name not in {other.name for other in self.arms}:
                        raise ValueError(f"arm '{arm.name}': between='{name}' is no arm")
        for arm in self.arms:
            for point in self.points:
                if (claimed := self.claimed(arm, point)) is not None:
                    (arm.tolerance or self.tolerance).bounds(claimed.value)
        self._check_parts()

    def _check_parts(self) -> None:
        """Check that the parts of the sentence are named or it is one whole, and that `expect` can come of them."""
        found = [self.claimed(arm, point) for arm in self.arms if not arm.explains for point in self.points]
        named = [claimed.part for claimed in found if claimed]
        if not named and not self.untestable:
            raise ValueError("no arm that counts says what the article reported or implied")
        if (any(named) or self.untestable) and not all(named):
            raise ValueError("some arms that count name no part of the sentence: part='...' where others do")
        parts = dict.fromkeys(named)
        _check_unique("part", [*parts, *(each.part for each in self.untestable)])
        if self.expect == "partly" and len(parts) + len(self.untestable) < 2:
            raise ValueError("expect='partly' needs several parts: Reported(figure, quote, part='...')")
        if self.expect == "not testable as stated" and (named or not self.untestable):
            raise ValueError("expect='not testable as stated' needs untestable=... and no arm that counts")

    @property
    def points(self) -> tuple[Point | None, ...]:
        """The points of the sweep; (None,) without a sweep."""
        return self.sweep.points if self.sweep else (None,)

    @property
    def axis(self) -> str:
        """The sweep's axis, as its plot names it; '' without a sweep."""
        return self.sweep.axis if self.sweep else ""

    def claimed(self, arm: Arm, point: Point | None) -> Claimed | None:
        """Return the claim's figure: the arm's for that point, else the point's, else the arm's, else None."""
        if isinstance(arm.claimed, Mapping):
            return arm.claimed.get(point.value) if point else None
        return arm.claimed if point is None or point.claimed is None else point.claimed


def _check_name(what: str, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise ValueError(f"'{name}' does not name an {what}: use letters, digits, '.', '-' and '_'")


def _check_claimed(claimed: Claimed | None) -> None:
    if claimed is not None and not isinstance(claimed, Claimed):
        raise ValueError(
            f"{claimed!r} has no source: write Reported({claimed!r}, '...') or Implied({claimed!r}, '...')"
        )


def _check_unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two {what}s are called '{name}'")
        seen.add(name)
    if not seen:
        raise ValueError(f"there is no {what}: name at least one")
