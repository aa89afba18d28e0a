"""How verdicts look on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from lab.verdict import Kind

VERDICTS: Mapping[Kind, str] = {
    "reproduced": "green",
    "not reproduced": "yellow",
    "inconclusive": "cyan",
    "invalid": "red",
    "skipped": "magenta",
}
