"""Read the laws that explain the references' figures, and the questions that are open."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from sys import float_info
from typing import Any

from lab.spec.document import Document
from lab.spec.errors import Problem, suggestion, told
from lab.units import UnitError, Value, in_unit

_TEXTS = ("because", "source", "open")


@dataclass(frozen=True)
class ReferenceLaw:
    """Explains the figure of one reference in one case.

    `figure` follows from the path alone, and has bounds if the law gives an interval. It is None if no law covers the
    case. `open` describes what we do not know.
    """

    figure: Value | None
    because: str
    source: str
    open: str

    def off(self, measured: Sequence[Value]) -> float | None:
        """Return how far the law is from the mean of the measured figures, as a share of the mean.

        Return 0 within the law's interval, and None without a figure or a mean of 0.
        """
        if self.figure is None or not (mean := fmean(each.number for each in measured)):
            return None
        low, high = self.figure.bounds
        return (min(max(mean, low), high) - mean) / mean

    def plain(self) -> dict[str, Any]:
        """Return the law as plain data for JSON. The figure is in base units."""
        low, high = self.figure.bounds if self.figure else (None, None)
        return {"low": low, "high": high, "because": self.because, "source": self.source, "open": self.open or None}


def read(given: Mapping[str, Any]) -> dict[str, ReferenceLaw]:
    """Return the law of each reference in a case, from an entry without mistakes."""
    found = {}
    for names, keys in given.items():
        texts = {key: " ".join(str(keys.get(key, "")).split()) for key in _TEXTS}
        made = ReferenceLaw(_figure(keys["figure"]) if "figure" in keys else None, **texts)
        found.update(dict.fromkeys(_names(names), made))
    return found


def mistakes(laws: Document, units: Mapping[str, str], references: Collection[str]) -> Iterator[Problem]:
    """Yield the mistakes in the file with the laws.

    `units` has the unit of each case's figure, and `references` the congestion controls with figures. Without any, each
    name is accepted.
    """
    for name, given in laws.data.items():
        if name not in units:
            yield laws.problem((name,), f"{name}: unknown case{suggestion(name, units)}")
        elif not isinstance(given, dict):
            yield laws.problem((name,), f"{name}: should be a mapping of congestion controls to laws")
        else:
            seen: set[str] = set()
            for names, keys in given.items():
                wrong = _mistake_in_names(names, references, seen) or _mistake(keys, units[name])
                if wrong:
                    yield laws.problem((name, names), f"{name}: {names}: {wrong}")
                seen.update(_names(names))


def _mistake_in_names(names: object, known: Collection[str], seen: Collection[str]) -> str:
    """Return what is wrong with the congestion controls of a law, or ""."""
    for each in (found := _names(names)):
        if not each or (known and each not in known):
            return f"unknown congestion control '{each}'{suggestion(each, known)}"
        if each in seen or found.count(each) > 1:
            return f"{each} is named twice"
    return ""


def _mistake(keys: object, unit: str) -> str:
    """Return what is wrong with the law of one or more references, or ""."""
    if not isinstance(keys, dict):
        return "should be a mapping with figure, because and source, or with open"
    known = ("figure", *_TEXTS)
    if unknown := next((key for key in keys if key not in known), None):
        return f"{unknown}: unknown key{suggestion(str(unknown), known)}"
    if wrong := next((key for key in _TEXTS if not isinstance(keys.get(key, ""), str)), None):
        return f"{wrong}: should be a text"
    if missing := next((key for key in _TEXTS[:2] if "figure" in keys and not keys.get(key)), None):
        return f"missing: {missing}"
    if "figure" not in keys:
        return "" if keys.get("open") else "missing: figure, or open"
    try:
        figure = _figure(keys["figure"])
    except UnitError as error:
        return f"figure: {told(error)}"
    return "" if figure.unit == unit else f"figure is {in_unit(figure.unit)}, but the case's figure is {in_unit(unit)}"


def _figure(given: object) -> Value:
    """Return a figure, or an interval with its middle. Raises UnitError if it is neither."""
    if not isinstance(given, list):
        return _finite(given)
    if len(given) != 2:
        raise UnitError("should be one figure, or a list of the lowest and the highest")
    low, high = map(_finite, given)
    if low.unit != high.unit or low.number > high.number:
        raise UnitError("should be a list of the lowest and the highest figure, in one unit")
    return Value((low.number + high.number) / 2, low.unit, low=low.number, high=high.number)


def _finite(given: object) -> Value:
    if isinstance(given, bool):
        raise UnitError("should be a figure")
    found = Value.of(given)  # type: ignore[arg-type]  # Value.of() refuses what is not a figure
    if not abs(found.number) <= float_info.max:
        raise UnitError("should be a finite figure")
    return found


def _names(names: object) -> list[str]:
    """Return the congestion controls in a key, such as "reno, cubic"."""
    return [each.strip() for each in str(names).split(",")]
