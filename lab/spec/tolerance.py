"""Limit the distance of a measurement from a claim's figure, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nextafter
from typing import ClassVar

from lab.guest.typed import Declared
from lab.units import Quantity, Value, in_unit

Figure = Value | Quantity | float | str  # as an experiment writes it; `Value.of` reads it


class _Reasoned(Declared):
    """Checks that a tolerance has its reason."""

    because: str
    sign: ClassVar[str] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.because.strip():
            raise ValueError("a tolerance needs its reason: because='...'")


class _Beyond(_Reasoned):
    """Checks that a margin is not negative."""

    margin: Figure

    def __post_init__(self) -> None:
        super().__post_init__()
        if Value.of(self.margin).number < 0:
            raise ValueError(f"a margin of {self.margin} should not be below zero")


@dataclass(frozen=True)
class Within(_Reasoned):
    """Accepts values from the figure divided by 1 + `ratio` to the figure times 1 + `ratio`. Use 0.05 for 5 %.

    The tolerance bounds the absolute value of ln(measured / figure), which is symmetric in both values.
    """

    ratio: float
    because: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.ratio < 1:
            raise ValueError(f"a tolerance within {self.ratio} should be a ratio above 0 and below 1")

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return the smallest and the largest number that agree with `figure`, in its unit."""
        least, most = sorted((figure.number / (1 + self.ratio), figure.number * (1 + self.ratio)))
        return least, most

    def __str__(self) -> str:
        return f"within {100 * self.ratio:.4g} %"


@dataclass(frozen=True)
class Odds(_Reasoned):
    """Accepts a share whose odds, s / (1 - s), differ from the figure's odds by at most `factor`, up or down.

    Shares near 1 hide large ratios: 0.8 is 4 to 1, and 0.88 is 7 to 1. The tolerance bounds the change of ln(s / (1 -
    s)).
    """

    factor: float
    because: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.factor <= 1:
            raise ValueError(f"odds need a factor above 1, not {self.factor}")

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return the smallest and the largest number that agree with `figure`.

        Raises ValueError if `figure` is not a share.
        """
        if figure.unit != "1" or not 0 < figure.number < 1:
            raise ValueError(f"{figure} has no odds: it is not a share between 0 and 1")
        odds = figure.number / (1 - figure.number)
        least, most = (each / (1 + each) for each in (odds / self.factor, odds * self.factor))
        return least, most

    def __str__(self) -> str:
        return f"odds within a factor of {self.factor:.4g}"


@dataclass(frozen=True)
class Exactly(_Reasoned):
    """Accepts only the figure itself."""

    because: str

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return (figure, figure)."""
        return figure.number, figure.number

    def __str__(self) -> str:
        return "exactly"


@dataclass(frozen=True)
class Absolute(_Reasoned):
    """Accepts values that differ from the figure by at most `room`, a quantity of the same unit: '2 us'."""

    room: Figure
    because: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if Value.of(self.room).number <= 0:
            raise ValueError(f"a tolerance of {self.room} should be above zero")

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return the smallest and the largest number that agree with `figure`. Raises ValueError if the units
        differ.
        """
        room = _room(self.room, figure)
        return figure.number - room, figure.number + room

    def __str__(self) -> str:
        return f"within {Value.of(self.room)}"


@dataclass(frozen=True)
class AtLeast(_Reasoned):
    """Accepts the figure or more, for an article that gives a bound or a direction."""

    because: str
    sign: ClassVar[str] = "≥ "

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return (figure, inf)."""
        return figure.number, inf

    def __str__(self) -> str:
        return "at least that"


@dataclass(frozen=True)
class AtMost(_Reasoned):
    """Accepts the figure or less, for an article that gives a bound or a direction."""

    because: str
    sign: ClassVar[str] = "≤ "

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return (-inf, figure)."""
        return -inf, figure.number

    def __str__(self) -> str:
        return "at most that"


@dataclass(frozen=True)
class Above(_Beyond):
    """Accepts only values above the figure by a margin, for a claim of "more" without a number.

    The margin is a quantity in the figure's unit: the smallest difference that the claim's words can mean.
    """

    margin: Figure
    because: str
    sign: ClassVar[str] = "> "

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return the next number above figure + margin, and inf. Raises ValueError if the units differ."""
        return nextafter(figure.number + _room(self.margin, figure), inf), inf

    def __str__(self) -> str:
        return f"above it by more than {Value.of(self.margin)}"


@dataclass(frozen=True)
class Below(_Beyond):
    """Accepts only values below the figure by a margin, for a claim of "less" without a number."""

    margin: Figure
    because: str
    sign: ClassVar[str] = "< "

    def bounds(self, figure: Value) -> tuple[float, float]:
        """Return -inf and the next number below figure - margin. Raises ValueError if the units differ."""
        return -inf, nextafter(figure.number - _room(self.margin, figure), -inf)

    def __str__(self) -> str:
        return f"below it by more than {Value.of(self.margin)}"


Tolerance = Within | Odds | Exactly | Absolute | AtLeast | AtMost | Above | Below


def _room(margin: Figure, figure: Value) -> float:
    room = Value.of(margin)
    if room.unit != figure.unit:
        raise ValueError(f"a tolerance {in_unit(room.unit)} does not suit a figure {in_unit(figure.unit)}")
    return room.number


STEADY = Within(0.005, because="a model that has the kernel's rules right is off by rounding, not by percents")


def accuracy_for(tolerance: Tolerance) -> Tolerance:
    """Return the default accuracy of a prediction: exact if the tolerance is exact, else `STEADY`."""
    return tolerance if isinstance(tolerance, Exactly) else STEADY
