"""Turn figures into points, and points into a score with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from lab.units import UnitError, Value, in_unit
from lab.verdict import interval

MOST = 100.0


@dataclass(frozen=True)
class Scale:
    """Holds the figures that earn no points and all points, with the reason.

    `none` is None if it is the time that a full buffer takes to drain, which depends on the path.
    """

    none: Value | None
    all: Value
    because: str

    def points(self, figure: Value, buffer: Value | None) -> float:
        """Return a figure's points, from 0 to 100: its place between `none` and `all`, on a straight line.

        `buffer` is the time of a full buffer. Raises UnitError if the units differ, or the scale needs a buffer and the
        path has none.
        """
        none = self.none or buffer
        if none is None:
            raise UnitError("the scale starts at the full buffer, but the path has no buffer with a limit")
        if not figure.unit == none.unit == self.all.unit:
            figures, ends = in_unit(figure.unit), f"{in_unit(none.unit)} and {in_unit(self.all.unit)}"
            raise UnitError(f"the figure is {figures}, and its scale {ends}")
        return MOST * min(max((figure.number - none.number) / (self.all.number - none.number), 0.0), 1.0)


@dataclass(frozen=True)
class Score:
    """Holds a mean of points, with its interval over the seeds; the bounds are None for one seed."""

    points: float
    low: float | None = None
    high: float | None = None
    coverage: float | None = None

    @classmethod
    def of(cls, seeds: Sequence[float]) -> Score:
        """Return the mean over the seeds."""
        if len(seeds) < 2:
            return cls(fmean(seeds))
        low, high = interval.mean(seeds, [1.0] * len(seeds))
        return cls(fmean(seeds), max(low, 0.0), min(high, MOST), interval.covers(len(seeds)))

    def plain(self) -> dict[str, float | None]:
        """Return the score as plain data for JSON."""
        return {"points": self.points, "low": self.low, "high": self.high, "coverage": self.coverage}


def by_case(points: Mapping[str, Iterable[Sequence[float]]]) -> Score:
    """Return the score in which every case counts the same.

    `points` has, for each criterion, each case's points seed by seed.
    """
    cases = [each for criterion in points.values() for each in criterion]
    return Score.of([fmean(seed) for seed in zip(*cases, strict=True)])


def by_criterion(points: Mapping[str, Iterable[Sequence[float]]]) -> Score:
    """Return the score in which every criterion counts the same, and within a criterion every case."""
    means = [[fmean(seed) for seed in zip(*criterion, strict=True)] for criterion in points.values()]
    return Score.of([fmean(seed) for seed in zip(*means, strict=True)])
