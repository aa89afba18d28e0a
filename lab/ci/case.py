"""Define a test case as reports have it, whatever it tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Case", "Outcome"]

Outcome = Literal["passed", "failed", "skipped", "undecided"]


@dataclass(frozen=True, slots=True)
class Case:
    """Says what became of a claim or a script, and of its parts."""

    group: str  # an article, or a folder of scripts
    name: str
    outcome: Outcome
    message: str = ""  # why, in a line
    detail: str = ""  # more lines: figures, or packets
    seconds: float = 0.0  # of wall-clock time that it took
    parts: tuple[Case, ...] = ()
    link: str = ""  # to where more is said
