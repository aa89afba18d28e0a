"""Provide the words in which experiments and studies declare their trials: arms, sweeps, and kernels that differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from lab.guest.clock import Clock
from lab.guest.task import Count, Interference, Observer, Traffic
from lab.guest.typed import Declared
from lab.spec.cause import Cause
from lab.spec.changes import Changes
from lab.spec.claimed import Claimed
from lab.spec.drawn import Drawn
from lab.spec.prediction import Predictor
from lab.spec.steady import Steady
from lab.spec.tolerance import Figure, Tolerance
from lab.units import Value, in_unit

Metric = Callable[[Any], Value]  # takes a record
Programs = Literal["guest", "programs"]  # the locked userlands that guests can boot from
Samples = Annotated[int, Meta(ge=1, le=10_000)]  # more would take days, and a plan too large for memory
Workload = Annotated[Traffic, Meta(title="a workload of lab.guest.workload")]
Probe = Annotated[Observer, Meta(title="a probe of lab.guest.probe")]
Middlebox = Annotated[Interference, Meta(title="a middlebox of lab.guest.middlebox")]


@dataclass(frozen=True)
class Variant(Declared):
    """Describes a kernel that differs from the run's kernel in patches, configuration, HZ or the source tree.

    File names are relative to the experiment's folder.
    """

    patches: tuple[str, ...] = ()
    hz: Count | None = None
    config: tuple[str, ...] = ()  # fragments: lines of a .config that override the lab's
    tree: str = ""  # a folder with a kernel's source, like "~/linux", used instead of the run's


@dataclass(frozen=True)
class Arm(Changes):
    """Describes one variant of the experiment: its changes to the topology, and the claim's figure for it.

    The fields from `workload` on default to the experiment's values.
    """

    name: str
    # the claim's figure, or one figure for each value of the sweep for which the article has one
    claimed: Claimed | Mapping[Figure, Claimed] | None = None
    # the cause that the arm shows as a witness; such an arm does not count for the verdict
    explains: Cause | None = None
    workload: Workload | None = None
    probes: tuple[Probe, ...] | None = None
    middleboxes: tuple[Middlebox, ...] | None = None
    metric: Metric | None = None
    prediction: Predictor | None = None  # a `Prediction`, or a function that declares no kind
    tolerance: Tolerance | None = None
    accuracy: Tolerance | None = None
    # the arm whose figures, at the same point, divide this arm's figures
    relative_to: str = ""
    kernel: Variant | None = None
    clock: Clock | None = None
    samples: Samples | None = None
    # what is cut from the start of a run, for a figure that is a long-run mean over time
    steady: Steady | None = None
    # the properties of the network that each seed draws
    drawn: Drawn | None = None
    # why fewer than ten samples are enough although wires lose, delay, reorder or duplicate frames by chance
    few_samples: str = ""
    # the arm's name on pages; default: its name with spaces for hyphens. Trial addresses do not cover it
    title: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_name("arm", self.name)


@dataclass(frozen=True)
class Point(Changes):
    """Describes one value of a sweep: its changes to the topology, or its workload, and the claim's figure there."""

    value: Figure
    claimed: Claimed | None = None
    workload: Workload | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        Value.of(self.value)

    @property
    def label(self) -> str:
        """The value as written in the experiment. The value names the point."""
        return str(self.value)


@dataclass(frozen=True)
class Sweep(Declared):
    """Varies one quantity: every arm runs at every point."""

    axis: str  # the plot's label: 'limit, frames'
    points: tuple[Point, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_unique("point", [point.label for point in self.points])
        units = {Value.of(point.value).unit for point in self.points}
        if len(units) > 1:
            raise ValueError(
                f"the points of a sweep should have one unit; some are {', others '.join(sorted(map(in_unit, units)))}"
            )

    @property
    def unit(self) -> str:
        """The unit of the sweep's values: bit/s, s, B or 1."""
        return Value.of(self.points[0].value).unit


@dataclass(frozen=True)
class FigureSpec:
    """Describes one figure that an arm gives, with the bounds that judge it."""

    name: str  # '' if the arm gives only one figure
    metric: Metric
    prediction: Predictor | None
    tolerance: Tolerance | None  # None: no claim is judged
    accuracy: Tolerance | None  # None: the prediction has no accuracy to meet


@dataclass(frozen=True, kw_only=True)
class Trials(Changes):
    """Declares the trials of an experiment or a study. Every arm runs at every point of the sweep.

    Its own changes to the topology apply to every arm. Raises ValueError if there is no arm, two arms share a name, or
    an arm is relative to a missing arm.
    """

    judges: ClassVar[bool]  # whether a claim is judged
    # a file of topologies/, a path from the experiment's own folder, or Mininet's Topo class (or a function making one)
    topology: str | Callable[[], Any]
    workload: Workload
    probes: tuple[Probe, ...] = ()
    # programs that change packets on their way
    middleboxes: tuple[Middlebox, ...] = ()
    arms: tuple[Arm, ...]
    sweep: Sweep | None = None
    kernel: Variant | None = None
    # the programs in its guests, except in runs with the host's programs; `programs` has more applications
    userland: Programs = "guest"
    clock: Clock = "virtual"
    # how often a trial runs: in virtual time with a different seed each time, in real time as a plain repeat
    samples: Samples = 1
    few_samples: str = ""
    # what is cut from the start of a run, for a figure that is a long-run mean over time
    steady: Steady | None = None
    # the properties of the network that each seed draws, so that no figure depends on one phase of the flows
    drawn: Drawn | None = None
    # from sender to receiver: the path that the prediction is about
    path: tuple[str, str] = ("sender", "receiver")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_unique("arm", [arm.name for arm in self.arms])
        plain = {arm.name for arm in self.arms if not arm.relative_to}
        for arm in self.arms:
            if arm.relative_to and arm.relative_to not in plain:
                raise ValueError(
                    f"arm '{arm.name}' is relative to '{arm.relative_to}', which is not an arm with figures"
                )

    @property
    def points(self) -> tuple[Point | None, ...]:
        """The points of the sweep; (None,) without a sweep."""
        return self.sweep.points if self.sweep else (None,)

    @property
    def axis(self) -> str:
        """The label of the sweep's axis in plots; '' without a sweep."""
        return self.sweep.axis if self.sweep else ""

    def claimed(self, arm: Arm, point: Point | None) -> Claimed | None:
        """Return the claim's figure: the arm's figure for the point, else the point's, else the arm's, else None."""
        if isinstance(arm.claimed, Mapping):
            return arm.claimed.get(point.value) if point else None
        return arm.claimed if point is None or point.claimed is None else point.claimed

    def figures(self, arm: Arm) -> Iterator[FigureSpec]:
        """Yield the figures that an arm gives at each point."""
        raise NotImplementedError


def _check_name(what: str, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise ValueError(f"'{name}' does not name an {what}; use letters, digits, '.', '-' and '_'")


def check_unique(what: str, names: Iterable[str]) -> None:
    """Raise ValueError if two of `names` are equal, or if there are none. `what` says what they name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two {what}s are called '{name}'; give each a name of its own")
        seen.add(name)
    if not seen:
        raise ValueError(f"there is no {what}; name at least one")
