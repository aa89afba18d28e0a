"""Define a test case in a report, for any kind of test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["passed", "failed", "skipped", "undecided"]


@dataclass(frozen=True, slots=True)
class Case:
    """Describes the result of a claim or a script, with its parts."""

    group: str  # an article, or a folder of scripts
    name: str
    outcome: Outcome
    message: str = ""  # the reason, in a line
    detail: str = ""  # more lines: figures, or packets
    seconds: float = 0.0  # of wall-clock time
    parts: tuple[Case, ...] = ()
    link: str = ""  # to more information
