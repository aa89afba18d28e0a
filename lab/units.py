"""Parse, print, compare and compute with the quantities of a network, without rounding.

A `Rate` counts whole bits per second, a `Duration` whole nanoseconds, and a `Size` whole bytes. `str()` and `of()` are
inverses, so YAML, JSON and the command line preserve a quantity exactly. A `Value` is a measured or predicted figure: a
number in an SI base unit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import total_ordering
from math import inf
from types import UnionType
from typing import Any, ClassVar, Self, TypeVar, get_args

import msgspec

__all__ = [
    "SCALES",
    "Duration",
    "Quantity",
    "Rate",
    "Size",
    "UnitError",
    "Value",
    "from_plain",
    "in_unit",
    "to_plain",
    "typed",
]

_T = TypeVar("_T")
_LONGEST = 64  # characters of a quantity's text
_NUMBER = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?)\s*(\S*)\s*")


class UnitError(ValueError):
    """Raised if a text is not a quantity of the wanted kind. `unit` is an unknown unit of a figure, else ""."""

    def __init__(self, message: str, unit: str = "") -> None:
        super().__init__(message)
        self.unit = unit


@total_ordering
class Quantity:
    """Holds an immutable, non-negative whole number of base units. Subclasses name the units."""

    __slots__ = ("base",)
    base: int
    kind: ClassVar[str]
    units: ClassVar[Mapping[str, int]]  # name -> base units, largest first; the last is the base unit itself
    unwritten: ClassVar[frozenset[str]] = frozenset()  # the units that are read and never written
    example: ClassVar[str]
    most: ClassVar[int]  # base units that a text may mean: what the kernel can count, so that a larger one has no trial

    def __init__(self, base: int) -> None:
        if base < 0:
            raise UnitError(f"{self.kind} {base} is negative")
        object.__setattr__(self, "base", int(base))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {self.kind} does not change")

    def __reduce__(self) -> tuple[type[Self], tuple[int]]:
        return type(self), (self.base,)

    def __eq__(self, other: object) -> bool:
        return self.base == other.base if type(other) is type(self) else NotImplemented

    def __lt__(self, other: Self) -> bool:
        return self.base < other.base if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), self.base))

    def __repr__(self) -> str:
        return f"{type(self).__name__}.of({str(self)!r})"

    @classmethod
    def of(cls, text: str | Self) -> Self:
        """Return the quantity that `text` ("1 Gbit/s", "10ms", "1.5 KiB") means.

        Raises UnitError for an unknown or missing unit, a negative value, a value that is not a whole number of base
        units, or a value that is too large for the kernel.
        """
        if isinstance(text, cls):
            return text
        match = _number(str(text))
        if match is None:
            raise UnitError(f"'{str(text)[:_LONGEST]}' is not a {cls.kind}: write it like '{cls.example}'")
        number, unit = match.groups()
        if unit not in cls.units:
            known = ", ".join(cls.units)
            problem = f"has the unknown unit '{unit}'" if unit else "lacks a unit"
            raise UnitError(f"{cls.kind} '{text}' {problem}: use one of {known}")
        exact = Fraction(number) * cls.units[unit]
        if exact < 0:
            raise UnitError(f"{cls.kind} '{text}' is negative")
        if exact.denominator != 1:
            raise UnitError(f"{cls.kind} '{text}' is finer than one {list(cls.units)[-1]}")
        if exact > cls.most:
            raise UnitError(f"{cls.kind} '{text}' is more than the kernel can count: at most {cls(cls.most)}")
        return cls(int(exact))

    def __str__(self) -> str:
        """Return the shortest exact text, in the largest unit that needs at most three decimals."""
        for unit, factor in self.units.items():
            if unit not in self.unwritten and self.base >= factor and (1000 * self.base) % factor == 0:
                whole, thousandths = divmod(1000 * self.base // factor, 1000)
                return f"{whole}{f'.{thousandths:03}'.rstrip('0') if thousandths else ''} {unit}"
        return f"{self.base} {list(self.units)[-1]}"

    def __bool__(self) -> bool:
        return self.base != 0


class Rate(Quantity):
    """Holds a capacity in bits per second."""

    __slots__ = ()
    kind = "rate"
    units = {"Tbit/s": 10**12, "Gbit/s": 10**9, "Mbit/s": 10**6, "kbit/s": 10**3, "bit/s": 1}
    example = "1 Gbit/s"
    most = 8 * (2**64 - 1)  # netem and tbf count bytes a second in 64 bits (TCA_NETEM_RATE64, TCA_TBF_RATE64)

    @property
    def bps(self) -> int:
        """The rate in bits per second."""
        return self.base

    def time_for(self, size: Size) -> Fraction:
        """Return the exact time, in seconds, that `size` takes at this rate. Raises ZeroDivisionError if the rate is
        zero.
        """
        return Fraction(8 * size.bytes, self.base)


class Duration(Quantity):
    """Holds a length of time in nanoseconds."""

    __slots__ = ()
    kind = "duration"
    units = {"h": 3600 * 10**9, "min": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
    unwritten = frozenset({"h"})  # a trial's address comes from its text, in which an hour has always been 60 min
    example = "10 ms"
    most = 2**62  # ktime_t is 64 bits with a sign: now, and as long again, must fit, or a timer is over at once

    @property
    def ns(self) -> int:
        """The duration in nanoseconds."""
        return self.base

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return self.base / 10**9


class Size(Quantity):
    """Holds a number of bytes. Decimal (kB, MB) and binary (KiB, MiB) units differ, as in the standards."""

    __slots__ = ()
    kind = "size"
    units = {
        "GiB": 2**30,
        "GB": 10**9,
        "MiB": 2**20,
        "MB": 10**6,
        "KiB": 2**10,
        "kB": 10**3,
        "B": 1,
    }
    example = "1500 B"
    most = 2**63 - 1  # loff_t is 64 bits with a sign

    @property
    def bytes(self) -> int:
        """The size in bytes."""
        return self.base

    def __str__(self) -> str:
        """Return the text in KiB or a larger unit only if the number stays whole: '1500 B', never '1.5 kB'."""
        for unit in ("GiB", "MiB", "KiB"):
            if self.base and self.base % self.units[unit] == 0:
                return f"{self.base // self.units[unit]} {unit}"
        return f"{self.base} B"


class Value(msgspec.Struct, frozen=True):
    """Holds a measured, predicted or reported figure, with bounds if the figure is uncertain."""

    number: float
    unit: str  # one of 'bit/s', 's', 'B', '1'
    low: float | None = None  # the lower bound; None on both sides means exact
    high: float | None = None
    coverage: float | None = None  # in how many of all such samples the bounds hold the true figure

    def __post_init__(self) -> None:
        if self.unit not in ("bit/s", "s", "B", "1"):
            raise UnitError(f"'{self.unit}' is not a base unit: use bit/s, s, B or 1")

    @classmethod
    def of(cls, figure: Self | Quantity | float | str) -> Self:
        """Read a figure in the form that experiments use: '927 Mbit/s', '32 B', 0, or a quantity.

        Raises UnitError if a text is not a quantity.
        """
        if isinstance(figure, cls):
            return figure
        if isinstance(figure, Rate):
            return cls(figure.bps, "bit/s")
        if isinstance(figure, Duration):
            return cls(figure.ns / 1e9, "s")
        if isinstance(figure, Size):
            return cls(figure.bytes, "B")
        if isinstance(figure, int | float):
            return cls(figure, "1")
        match = _number(str(figure))
        kinds: tuple[type[Quantity], ...] = (Rate, Duration, Size)
        for kind in kinds:
            if match and match.group(2) in kind.units:
                return cls.of(kind.of(str(figure)))
        problem = f"'{str(figure)[:_LONGEST]}' is not a rate, a duration or a size"
        unit = match.group(2) if match else ""
        raise UnitError(problem + _as_number(match), "" if unit == "%" else unit)

    def within(self, share: float) -> Value:
        """Return the figure with bounds, if the true quantity may be smaller or larger by up to `share` (0 to 1)."""
        if not share:
            return self
        ends = sorted((self.number * (1 - share), self.number / (1 - share)))
        return Value(self.number, self.unit, *ends)

    def over(self, other: Value) -> Value | None:
        """Return the ratio to another figure, with the bounds that follow from both figures.

        Return None if the other figure is zero. Raises UnitError if the units differ.
        """
        if self.unit != other.unit:
            raise UnitError(f"there is no ratio of a figure {in_unit(self.unit)} and one {in_unit(other.unit)}")
        if other.number <= 0:
            return None
        if self.low is self.high is other.low is other.high is None:
            return Value(self.number / other.number, "1")
        (low, high), (least, most) = self.bounds, other.bounds
        ends = (low / most, high / least if least > 0 else inf)
        return Value(self.number / other.number, "1", *ends)

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the lower and the upper bound. For an exact figure, both are the figure itself."""
        return (self.number if self.low is None else self.low, self.number if self.high is None else self.high)

    def __str__(self) -> str:
        if self.unit == "1":
            return f"{self.number:.6g}"
        scales = {"B": 1} if self.unit == "B" else SCALES[self.unit]
        for unit, factor in scales.items():
            if abs(self.number) >= factor:
                return f"{self.number / factor:,.4f}".rstrip("0").rstrip(".") + f" {unit}"
        return f"{self.number:.4g} {self.unit}"


def _as_number(match: re.Match[str] | None) -> str:
    """Return advice on the correct form for a text that is a plain number or a percentage."""
    if match is None or match.group(2) not in ("", "%"):
        return ""
    if match.group(2):
        return f": write the number {float(Fraction(match.group(1)) / 100):.15g}, without quotes"
    number = match.group(1)
    return f": add its unit, such as '{number} Mbit/s'; for a count or a ratio, write {number} without quotes"


SCALES: Mapping[str, Mapping[str, float]] = {  # base unit -> the units that people read it in, largest first
    "bit/s": Rate.units,
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "B": {name: Size.units[name] for name in ("GiB", "MiB", "KiB", "B")},
    "1": {"": 1},
}


def in_unit(unit: str) -> str:
    """Return how a figure is written: 'in bit/s' for this base unit, or 'without a unit' for a count or a ratio."""
    return "without a unit" if unit == "1" else f"in {unit}"


def to_plain(value: Any) -> Any:
    """Convert frozen structs and quantities to JSON's own types. A quantity becomes its text."""
    return msgspec.to_builtins(value, enc_hook=_encode)


def from_plain(plain: Any, kind: type[_T]) -> _T:
    """Convert the result of `to_plain` back to a struct. Raises msgspec.ValidationError, which names the wrong
    field.
    """
    found: _T = msgspec.convert(plain, _meant(plain, kind), dec_hook=_decode)
    return found


def _number(text: str) -> re.Match[str] | None:
    """Return the number and the unit in a text, or None if the text is not a quantity or is too long for one."""
    return _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None


def _meant(plain: Any, kind: Any) -> Any:
    """Return the struct of a union that the tag selects. Without this, msgspec would inspect the types of all
    structs.
    """
    for each in get_args(kind) if isinstance(kind, UnionType) and isinstance(plain, dict) else ():
        told = getattr(each, "__struct_config__", None)
        if told is not None and told.tag is not None and plain.get(told.tag_field) == told.tag:
            return each
    return kind


def typed(text: bytes, kind: Any) -> Any:
    """Read JSON text directly into a struct with quantities. Raises msgspec.MsgspecError and RecursionError."""
    return msgspec.json.decode(text, type=kind, dec_hook=_decode)


def _encode(value: Any) -> Any:
    if isinstance(value, Quantity):
        return str(value)
    raise NotImplementedError(f"no plain form of {type(value).__name__}")


def _decode(wanted: type, value: Any) -> Any:
    if issubclass(wanted, Quantity):
        return wanted.of(value)
    raise NotImplementedError(f"no {wanted.__name__} from plain data")
