"""Say how far a measurement may lie from the figure that a claim reports, and why that far."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nextafter
from typing import ClassVar

from lab.units import Quantity, Value

Figure = Value | Quantity | float | str  # as an experiment writes it; `Value.of` reads it


@dataclass(frozen=True)
class Within:
    """Accepts what lies within `ratio` of the figure: 0.05 for 5 % either way."""

    ratio: float
    because: str
    sign: ClassVar[str] = ""

    def __post_init__(self) -> None:
        _reasoned(self.because)
        if not 0 < self.ratio < 1:
            raise ValueError(f"a tolerance within {self.ratio} should be a ratio above 0 and below 1")

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return the least and the most that agree with `figure`, in its unit."""
        room = abs(figure.number) * self.ratio
        return figure.number - room, figure.number + room

    def __str__(self) -> str:
        return f"within {100 * self.ratio:.4g} %"


@dataclass(frozen=True)
class Exactly:
    """Accepts only the figure itself."""

    because: str
    sign: ClassVar[str] = ""

    def __post_init__(self) -> None:
        _reasoned(self.because)

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return (figure, figure)."""
        return figure.number, figure.number

    def __str__(self) -> str:
        return "exactly"


@dataclass(frozen=True)
class Absolute:
    """Accepts what lies within `room` of the figure, a quantity of the same unit: '2 us'."""

    room: Figure
    because: str
    sign: ClassVar[str] = ""

    def __post_init__(self) -> None:
        _reasoned(self.because)
        if Value.of(self.room).number <= 0:
            raise ValueError(f"a tolerance of {self.room} should be above zero")

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return the least and the most that agree with `figure`. Raises ValueError when `room` is in another unit."""
        room = _room(self.room, figure)
        return figure.number - room, figure.number + room

    def __str__(self) -> str:
        return f"within {Value.of(self.room)}"


@dataclass(frozen=True)
class AtLeast:
    """Accepts the figure or more, where an article gives a bound or a direction."""

    because: str
    sign: ClassVar[str] = "≥ "

    def __post_init__(self) -> None:
        _reasoned(self.because)

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return (figure, inf)."""
        return figure.number, inf

    def __str__(self) -> str:
        return "at least that"


@dataclass(frozen=True)
class AtMost:
    """Accepts the figure or less, where an article gives a bound or a direction."""

    because: str
    sign: ClassVar[str] = "≤ "

    def __post_init__(self) -> None:
        _reasoned(self.because)

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return (-inf, figure)."""
        return -inf, figure.number

    def __str__(self) -> str:
        return "at most that"


@dataclass(frozen=True)
class Above:
    """Accepts only more than the figure by a margin, for a claim that says more and not how much.

    The margin is a quantity of the figure's unit: the least difference that the claim's words can mean.
    """

    margin: Figure
    because: str
    sign: ClassVar[str] = "> "

    def __post_init__(self) -> None:
        _reasoned(self.because)
        _margin(self.margin)

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return the next number above figure + margin, and inf. Raises ValueError when the units differ."""
        return nextafter(figure.number + _room(self.margin, figure), inf), inf

    def __str__(self) -> str:
        return f"above it by more than {Value.of(self.margin)}"


@dataclass(frozen=True)
class Below:
    """Accepts only less than the figure by a margin, for a claim that says less and not how much."""

    margin: Figure
    because: str
    sign: ClassVar[str] = "< "

    def __post_init__(self) -> None:
        _reasoned(self.because)
        _margin(self.margin)

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return -inf and the next number below figure - margin. Raises ValueError when the units differ."""
        return -inf, nextafter(figure.number - _room(self.margin, figure), -inf)

    def __str__(self) -> str:
        return f"below it by more than {Value.of(self.margin)}"


Tolerance = Within | Exactly | Absolute | AtLeast | AtMost | Above | Below


def _reasoned(because: str) -> None:
    if not because.strip():
        raise ValueError("a tolerance needs its reason: because='...'")


def _margin(margin: Figure) -> None:
    if Value.of(margin).number < 0:
        raise ValueError(f"a margin of {margin} should not be below zero")


def _room(margin: Figure, figure: Value) -> float:
    room = Value.of(margin)
    if room.unit != figure.unit:
        raise ValueError(f"a tolerance in {room.unit} does not suit a figure in {figure.unit}")
    return room.number


STEADY = Within(0.005, because="a model that has the kernel's rules right is off by rounding, not by percents")


def accuracy_for(tolerance: Tolerance) -> Tolerance:
    """Return how far a prediction may lie from the measurement where an experiment does not say: a count is exact."""
    return tolerance if isinstance(tolerance, Exactly) else STEADY
