"""Measure a figure in the output of an experiment's `Program`, from JSON or with a regular expression.

To measure a file that the program wrote, write a function in the experiment. The function takes the record, and
`record.path("program/NAME")` is the file's path.
"""

from __future__ import annotations

import re
from typing import Any

from lab.guest import outputs
from lab.record.record import Record
from lab.spec.metric import Measure, MetricError, measures
from lab.units import SCALES, UnitError, Value

OUTPUT = f"{outputs.PROGRAM}.out"


@measures()
def program_json(*keys: str | int, unit: str = "1", file: str = OUTPUT) -> Measure:
    """Measure the number at the path `keys` in a program's JSON output, in this unit: "Mbit/s", "ms" or "1".

    Raises UnitError for an unknown unit.
    """
    scale, base = _unit(unit)

    def measure(record: Record) -> Value:
        found: Any = record.json(file)
        for key in keys:
            try:
                found = found[key]
            except (KeyError, IndexError, TypeError):
                raise MetricError(f"{file} has no {' > '.join(map(str, keys))}: '{key}' is missing") from None
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise MetricError(f"{file} has no number at {' > '.join(map(str, keys))}")
        return Value(found * scale, base)

    return measure


@measures()
def program_match(pattern: str, unit: str = "1", file: str = OUTPUT) -> Measure:
    """Measure the number in the last match of the pattern's group in a program's output.

    Raises UnitError for an unknown unit, and ValueError unless the pattern has exactly one group.
    """
    scale, base = _unit(unit)
    wanted = re.compile(pattern, re.MULTILINE)
    if wanted.groups != 1:
        raise ValueError(f"the pattern '{pattern}' has {wanted.groups} groups; give it exactly one, around the number")

    def measure(record: Record) -> Value:
        found = wanted.findall(record.text(file))
        if not found:
            raise MetricError(f"nothing in {file} matches '{pattern}'")
        try:
            return Value(float(found[-1]) * scale, base)
        except ValueError:
            raise MetricError(f"'{found[-1]}' in {file} is not a number") from None

    return measure


def _unit(name: str) -> tuple[float, str]:
    """Return the unit's size in base units, and the base unit."""
    for base, scales in SCALES.items():
        if name == base:
            return 1.0, base
        if name in scales:
            return float(scales[name]), base
    known = ", ".join(scale for scales in SCALES.values() for scale in scales if scale)
    raise UnitError(f"'{name}' is not a unit; use 1 or one of {known}")
