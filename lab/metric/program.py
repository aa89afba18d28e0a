"""Measure what a program of the experiment's own said (`lab.workload.Program`): in JSON, or by a regular expression.

What is in the files that it wrote, a function of the experiment's own measures: it takes the record, and
`record.path("program/NAME")` is the file.
"""

from __future__ import annotations

import re
from typing import Any

from lab import outputs
from lab.metric.flow import MetricError
from lab.metric.metrics import Metric
from lab.record.record import Record
from lab.units import SCALES, UnitError, Value

__all__ = ["program_json", "program_match"]

OUTPUT = f"{outputs.PROGRAM}.out"


def program_json(*keys: str | int, unit: str = "1", file: str = OUTPUT) -> Metric:
    """Measure a number in a program's JSON, which `keys` lead to, in this unit: "Mbit/s", "ms", "1".

    Raises UnitError for a unit that there is not.
    """
    scale, base = _unit(unit)

    def measure(record: Record) -> Value:
        found: Any = record.json(file)
        for key in keys:
            try:
                found = found[key]
            except (KeyError, IndexError, TypeError):
                raise MetricError(f"{file} has no {' > '.join(map(str, keys))}: '{key}' is not there") from None
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise MetricError(f"{file} has no number at {' > '.join(map(str, keys))}")
        return Value(found * scale, base)

    return measure


def program_match(pattern: str, unit: str = "1", file: str = OUTPUT) -> Metric:
    """Measure the number that the pattern's group matches in what a program said, where it last does.

    Raises UnitError for a unit that there is not, ValueError for a pattern without just one group.
    """
    scale, base = _unit(unit)
    wanted = re.compile(pattern, re.MULTILINE)
    if wanted.groups != 1:
        raise ValueError(f"the pattern '{pattern}' has {wanted.groups} groups: the number should be its one group")

    def measure(record: Record) -> Value:
        found = wanted.findall(record.text(file))
        if not found:
            raise MetricError(f"{file} has nothing that matches '{pattern}'")
        try:
            return Value(float(found[-1]) * scale, base)
        except ValueError:
            raise MetricError(f"'{found[-1]}' in {file} is not a number") from None

    return measure


def _unit(name: str) -> tuple[float, str]:
    """Return how many base units it is, and the base unit."""
    for base, scales in SCALES.items():
        if name == base:
            return 1.0, base
        if name in scales:
            return float(scales[name]), base
    known = ", ".join(scale for scales in SCALES.values() for scale in scales if scale)
    raise UnitError(f"'{name}' is not a unit: use 1 or one of {known}")
