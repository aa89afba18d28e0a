"""Compute a long-run figure without the start of the run.

The rule for the cut is declared before the run: a fixed time with its reason, or MSER-5. Experiments, metrics and
verdicts use this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean
from typing import Any

from lab.errors import LabError
from lab.guest.typed import Declared
from lab.units import Duration, Value

BINS, BATCH = 200, 5  # the number of parts into which MSER divides a run, and the parts in one batch


@dataclass(frozen=True)
class Steady(Declared):
    """Declares that a figure is about the long run, and the cut at the start of the run.

    `Steady()` cuts with MSER-5; `Steady(after="10 s", because="...")` cuts a fixed time. Raises ValueError if a fixed
    time has no reason.
    """

    after: Duration | None = None  # None: MSER-5 decides
    because: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.after is not None and not self.because.strip():
            raise ValueError("a fixed cut needs a reason: Steady(after=..., because='...')")

    def __str__(self) -> str:
        return "MSER-5" if self.after is None else f"after {self.after}"


@dataclass(frozen=True)
class Course:
    """Computes a figure over any part of one run, with `between(start, end)`. Times are in seconds."""

    begin: float
    end: float
    unit: str
    between: Callable[[float, float], float]

    def value(self, start: float, end: float) -> Value:
        """Return the figure between two times."""
        return Value(self.between(start, end), self.unit)

    def cut(self, steady: Steady) -> float:
        """Return the time, in seconds, at which the long run begins.

        Raises LabError if nothing of the run would be left.
        """
        if steady.after is None:
            width = (self.end - self.begin) / BINS
            edges = [self.begin + width * number for number in range(BINS + 1)]
            return edges[BATCH * mser([self._bin(*pair) for pair in pairwise(edges)])]
        start = self.begin + steady.after.seconds
        if start >= self.end:
            raise LabError(f"the run lasts {self.end - self.begin:.3g} s, but {steady.after} should be cut")
        return start

    def _bin(self, start: float, end: float) -> float:
        """Return the figure of a short period, or zero if no packet passed in this period."""
        try:
            return self.between(start, end)
        except LabError:
            return 0.0


@dataclass(frozen=True)
class OverTime:
    """Measures a mean over time, between two times or over the long run."""

    course: Callable[[Any], Course]  # of a record
    start: float | None = None
    end: float | None = None
    steady: Steady | None = None

    def __call__(self, record: Any) -> Value:
        """Return the record's figure."""
        course = self.course(record)
        start = course.cut(self.steady) if self.steady else course.begin
        return course.value(start if self.start is None else self.start, course.end if self.end is None else self.end)

    @property
    def is_timed(self) -> bool:
        """Return whether the measure has a start or an end, so that it is not a long-run figure."""
        return self.start is not None or self.end is not None

    def cut_by(self, steady: Steady) -> OverTime:
        """Return this mean without the start of the run that `steady` cuts."""
        return replace(self, steady=steady)

    def halves(self, record: Any) -> tuple[float, float]:
        """Return the figures over the first and the second half of the run after the cut."""
        course = self.course(record)
        start = course.cut(self.steady or Steady())
        middle = (start + course.end) / 2
        return course.between(start, middle), course.between(middle, course.end)


def mser(values: Sequence[float]) -> int:
    """Return the number of batches of five that MSER-5 cuts, which gives the mean the smallest standard error.

    At most half of the batches are cut, since a minimum in the second half shows that the run is too short. Source:
    White, Cobb and Spratt (2000), "A comparison of five steady-state truncation heuristics for simulation".
    """
    means = [fmean(values[at : at + BATCH]) for at in range(0, len(values) - BATCH + 1, BATCH)]

    def error(cut: int) -> float:
        rest = means[cut:]
        centre = fmean(rest)
        return sum((each - centre) ** 2 for each in rest) / len(rest) ** 2

    return min(range(len(means) // 2 + 1), key=error)
