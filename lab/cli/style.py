"""How verdicts and figures look on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from lab.units import Value
from lab.verdict import Kind

VERDICTS: Mapping[Kind, str] = {
    "reproduced": "green",
    "not reproduced": "yellow",
    "inconclusive": "cyan",
    "invalid": "red",
    "skipped": "magenta",
}


def figure(value: Value | None) -> str:
    """A figure with its unit; a dash where there is none."""
    return "-" if value is None else str(value)
