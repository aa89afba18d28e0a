"""How far a measurement may lie from the figure that a claim reports, and why that far."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nextafter

from lab.units import Quantity, Value

Figure = Value | Quantity | float | str  # as an experiment writes it; `Value.of` reads it


@dataclass(frozen=True)
class Within:
    """Within `ratio` of the figure: 0.05 for 5 % either way."""

    ratio: float
    because: str

    def __post_init__(self) -> None:
        _reasoned(self.because)
        if not 0 < self.ratio < 1:
            raise ValueError(f"a tolerance within {self.ratio} should be a ratio above 0 and below 1")

    def bounds(self, figure: Value) -> tuple[float, float]:
        """The least and the most that agrees with `figure`, in its unit."""
        room = abs(figure.number) * self.ratio
        return figure.number - room, figure.number + room

    def __str__(self) -> str:
        return f"within {100 * self.ratio:.4g} %"


@dataclass(frozen=True)
class Exactly:
    """The figure itself."""

    because: str

    def __post_init__(self) -> None:
        _reasoned(self.because)

    def bounds(self, figure: Value) -> tuple[float, float]:
        """The figure twice."""
        return figure.number, figure.number

    def __str__(self) -> str:
        return "exactly"


@dataclass(frozen=True)
class Absolute:
    """Within `room` of the figure, a quantity of the same unit: '2 us'."""

    room: Figure
    because: str

    def __post_init__(self) -> None:
        _reasoned(self.because)
        if Value.of(self.room).number <= 0:
            raise ValueError(f"a tolerance of {self.room} should be above zero")

    def bounds(self, figure: Value) -> tuple[float, float]:
        """The least and the most that agrees with `figure`, in its unit. Raises ValueError if that is another."""
        room = Value.of(self.room)
        if room.unit != figure.unit:
            raise ValueError(f"a tolerance in {room.unit} does not suit a figure in {figure.unit}")
        return figure.number - room.number, figure.number + room.number

    def __str__(self) -> str:
        return f"within {Value.of(self.room)}"


@dataclass(frozen=True)
class AtLeast:
    """The figure or more: where an article gives a bound or a direction."""

    because: str

    def __post_init__(self) -> None:
        _reasoned(self.because)

    def bounds(self, figure: Value) -> tuple[float, float]:
        """From the figure on."""
        return figure.number, inf

    def __str__(self) -> str:
        return "at least that"


@dataclass(frozen=True)
class AtMost:
    """The figure or less: where an article gives a bound or a direction."""

    because: str

    def __post_init__(self) -> None:
        _reasoned(self.because)

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Up to the figure."""
        return -inf, figure.number

    def __str__(self) -> str:
        return "at most that"


@dataclass(frozen=True)
class Below:
    """Less than the figure, for a claim that says worse and not how much."""

    because: str

    def __post_init__(self) -> None:
        _reasoned(self.because)

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Anything less."""
        return -inf, nextafter(figure.number, -inf)

    def __str__(self) -> str:
        return "below it"


Tolerance = Within | Exactly | Absolute | AtLeast | AtMost | Below


def _reasoned(because: str) -> None:
    if not because.strip():
        raise ValueError("a tolerance needs its reason: because='...'")


STEADY = Within(0.005, because="a model that has the kernel's rules right is off by rounding, not by percents")


def accuracy_for(tolerance: Tolerance) -> Tolerance:
    """How far a prediction may lie from the measurement where an experiment does not say: a count is exact."""
    return tolerance if isinstance(tolerance, Exactly) else STEADY
