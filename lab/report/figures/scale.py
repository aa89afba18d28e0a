"""Scale and draw the figures of a drawing, and interpolate between points of a sweep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from math import inf, isfinite
from typing import Any

import msgspec
from matplotlib.axes import Axes
from msgspec import structs

from lab.errors import LabError
from lab.report.drawing import onwards
from lab.units import SCALES, Quantity, Value
from lab.verdict import Result

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_OPEN = 1.25  # where an interval without an upper bound ends in a drawing


class NotBetween(LabError):
    """Raised if two settings differ in more than numbers, so that no setting is between them."""


def scale_of(values: Iterable[Value | None]) -> tuple[float, str]:
    """Return (size in base units, name) of the largest unit in which the largest value is at least 1; else (1, "").

    Bytes use a larger unit only if all values are whole numbers in that unit.

    >>> scale_of([Value(94.4e6, "bit/s"), None])
    (1000000.0, 'Mbit/s')
    """
    known = [value for value in values if value]
    if not known:
        return 1, ""
    most = max(abs(value.number) for value in known)
    units = tuple((scale, name) for name, scale in SCALES[known[0].unit].items() if name != "ns")  # 0 s is 0 us
    if known[0].unit == "B":
        units = tuple(unit for unit in units if all(value.number % unit[0] == 0 for value in known)) or units[-1:]
    return next((unit for unit in units if most >= unit[0]), units[-1])


def drawn_ends(value: Value) -> tuple[float, float]:
    """Return the ends of a figure's interval. If it has no upper bound, its drawing ends beyond the figure."""
    low, high = value.bounds
    return low, high if isfinite(high) else _OPEN * max(low, value.number)


def draw_sample(
    panel: Axes, at: float, result: Result, factor: float, colour: str, name: str, is_upright: bool
) -> None:
    """Draw the figure of each trial as a point, and the interval of their mean or median, at one place of an axis.

    The figures are divided by `factor`, and increase upwards or to the right. Without a measurement, draw nothing.
    """
    if result.measured is None:
        return

    def plot(figures: Sequence[float], *style: str, **options: Any) -> None:
        places = [at] * len(figures)
        panel.plot(*((places, figures) if is_upright else (figures, places)), *style, color=colour, **options)

    numbers = [number / factor for number in result.sample.numbers]
    plot(numbers, "o", alpha=0.35, markersize=4, clip_on=False, label=f"{name}, a trial")
    ends = [end / factor for end in drawn_ends(result.measured)]
    plot(ends, linewidth=2, label=f"{name}, interval")
    if result.measured.high == inf:
        onwards(panel, (at, ends[1]) if is_upright else (ends[1], at), True, colour, is_upright)


def between(low: Any, high: Any, share: float) -> Any:
    """Return the scenario at `share` of the way from `low` to `high`, with every number interpolated, even in text.

    Raises NotBetween if the scenarios differ in anything but numbers.
    """
    if low == high:
        return low
    if type(low) is not type(high) or isinstance(low, bool):
        raise NotBetween(f"there is nothing between {low!r} and {high!r}")
    if isinstance(low, Quantity):
        return type(low)(between(low.base, high.base, share))
    if isinstance(low, int):
        return round(low + share * (high - low))
    if isinstance(low, float):
        return low + share * (high - low)
    if isinstance(low, str):
        return _text(low, high, share)
    if isinstance(low, Mapping) and low.keys() == high.keys():
        return {name: between(low[name], high[name], share) for name in low}
    if isinstance(low, tuple | list) and len(low) == len(high):
        return type(low)(between(*pair, share) for pair in zip(low, high, strict=True))
    if isinstance(low, msgspec.Struct):
        names = low.__struct_fields__
        return structs.replace(low, **{name: between(getattr(low, name), getattr(high, name), share) for name in names})
    if is_dataclass(low) and not isinstance(low, type):
        names = tuple(field.name for field in fields(low))
        return replace(low, **{name: between(getattr(low, name), getattr(high, name), share) for name in names})
    raise NotBetween(f"there is nothing between {low!r} and {high!r}")


def _text(low: str, high: str, share: float) -> str:
    if _NUMBER.sub("0", low) != _NUMBER.sub("0", high):
        raise NotBetween(f"there is nothing between '{low}' and '{high}'")
    pairs = zip(_NUMBER.findall(low), _NUMBER.findall(high), strict=True)
    numbers = iter(
        between(float(one), float(other), share) if "." in one + other else between(int(one), int(other), share)
        for one, other in pairs
    )
    return _NUMBER.sub(lambda _: str(next(numbers)), low)
