"""Take a sample, the figures of a case's valid trials. Verdicts and comparisons share samples and their ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, inf
from statistics import median
from types import MappingProxyType
from typing import Any, Literal

from lab.record.record import Record
from lab.units import UnitError, Value, in_unit
from lab.verdict import interval
from lab.verdict.binomial import at_most
from lab.verdict.correction import LEVEL
from lab.verdict.repeats import uncertainty

_Statistic = Literal["mean", "median", "event"]
_UNKNOWN: Mapping[str, Value] = MappingProxyType({})


@dataclass(frozen=True)
class Sample:
    """Holds the figure of each trial by (seed, repeat). `real` means that the trials ran in real time.

    `by` is the statistic that sums up the figures. For a sample of ratios, `base` has the other arm's figures. `limits`
    are the smallest and the largest possible figure; an interval contains no impossible figures.
    """

    figures: Mapping[tuple[int, int], Value]
    real: bool = False
    by: _Statistic = "mean"
    base: Mapping[tuple[int, int], Value] | None = None
    limits: tuple[float, float] = (-inf, inf)

    @classmethod
    def of(
        cls,
        metric: Callable[[Record], Value],
        records: Iterable[Record],
        real: bool,
        known: Mapping[str, Value] = _UNKNOWN,
    ) -> Sample:
        """Return the figures of valid records, each with the uncertainty that its machine causes.

        `known` has the figures of trials that were measured already, by address. A metric whose figure is an event, or
        a maximum, has an attribute `statistic`. Other figures are summed up with the mean, or in real time with the
        median. Raises the metric's errors.
        """
        figures = {
            _which(record): known.get(record.address) or _widened(_measured(metric, record), uncertainty(record))
            for record in records
        }
        by: _Statistic = getattr(metric, "statistic", "mean")
        return cls(figures, real, by, limits=getattr(metric, "limits", (-inf, inf)))

    def over(self, base: Sample) -> Sample:
        """Return the ratios to another arm's figures, each of the same seed and repeat.

        Both figures of a pair share an influence that does not depend on the arm: in real time, the time of the run (a
        block holds one repeat of each arm); in virtual time, the draws of a seed. So the ratios are again a sample of
        independent figures, with the same median, interval and test. For means, the ratio is the ratio of both means,
        and uses every pair. Raises UnitError if the units differ.
        """
        both = sorted(self.figures.keys() & base.figures.keys())
        for which in both:
            self.figures[which].over(base.figures[which])  # raises UnitError for different units
        figures, others = ({which: each.figures[which] for which in both} for each in (self, base))
        by: _Statistic = "median" if "median" in (self.by, base.by) else "mean"
        limits = (0, inf) if min(self.limits[0], base.limits[0]) >= 0 else (-inf, inf)
        return Sample(figures, self.real or base.real, by, others, limits)

    @property
    def values(self) -> list[Value]:
        """The figures, or the ratios of the pairs whose base is above 0."""
        if self.base is None:
            return list(self.figures.values())
        ratios = (figure.over(self.base[which]) for which, figure in self.figures.items())
        return [ratio for ratio in ratios if ratio]

    def own_figure_of(self, record: Record) -> Value | None:
        """Return the figure of one trial, not its ratio to the other arm's figure; None if there is none."""
        return self.figures.get(_which(record))

    def figure_of(self, record: Record) -> Value | None:
        """Return the figure of one trial, or its ratio to the other arm's figure; None if there is none."""
        which = _which(record)
        figure = self.figures.get(which)
        return figure if figure is None or self.base is None else figure.over(self.base[which])

    @property
    def numbers(self) -> list[float]:
        """Return the figures as numbers in the base unit."""
        return [value.number for value in self.values]

    @property
    def without_ratio(self) -> str:
        """Why the figures have no ratio to another arm's figures, or "".

        Medians need the ratio of each pair; means need the ratio of both means.
        """
        lost = len(self.figures) - len(self.values)
        if self.statistic == "median" and lost:
            return f"the other arm's figure is 0 in {lost} of {len(self.figures)} pairs: they have no ratio"
        if self.figures and sum(self._bases) <= 0:
            return "the other arm's mean is 0: there is no ratio to it"
        return ""

    @property
    def uncertain(self) -> str:
        """The uncertainty that the interval omits, or "": a busy machine, or equal figures that may hide a spread."""
        shares = [1 - value.bounds[0] / value.number for value in self.values if value.number]
        most, count = max(shares, default=0.0), len(self.figures)
        if most:
            return f"the machine may have been away for up to {100 * most:.2g} % of the time"
        if count > 1 and self._is_constant and self.statistic != "event":
            share = 100 * at_most(0, count, LEVEL)
            return f"all {count} draws gave this figure, but up to {share:.0f} % of further draws may differ"
        return ""

    @property
    def is_alone(self) -> bool:
        """Whether the sample is the figure of a single trial that costs only CPU time.

        Such figures vary not only with the time in which the machine was busy elsewhere, but also with memory and
        caches. Only repeats show this variation.
        """
        return self.real and len(self.figures) == 1 and bool(self.uncertain)

    @property
    def estimate(self) -> Value | None:
        """The figure of the case, with its interval; None without figures.

        Raises UnitError if the figures have different units.
        """
        if not self.figures or self.without_ratio:
            return None
        values = self.values
        unit, count = values[0].unit, len(values)
        if len(units := {value.unit for value in values}) > 1:
            raise UnitError(f"the trials of one case have figures {' and '.join(sorted(map(in_unit, units)))}")
        if count == 1:
            return values[0]
        if self.statistic == "event":
            hits = sum(value.number != 0 for value in values)
            return Value(hits / count, unit, *interval.events(hits, count), interval.NOMINAL)
        if self.statistic == "median" or self._is_constant:
            return median_of(values)
        figures = [value.number for value in self.figures.values()]
        ratio = fsum(figures) / fsum(self._bases)
        (low, high), (least, most) = interval.mean(figures, self._bases), self.limits
        return Value(ratio, unit, max(low, least), min(high, most), interval.covers(len(figures)))

    @property
    def beyond(self) -> Callable[[float], float] | None:
        """A function that gives the figures' probability if the true figure were a bound; None for exact figures."""
        if len(self.figures) < 2:
            return None
        if self.statistic == "event":
            hits = sum(value.number != 0 for value in self.values)
            return lambda bound: interval.event_beyond(hits, len(self.figures), bound)
        if self.statistic == "median" or self._is_constant:
            return lambda bound: interval.median_beyond(self.numbers, bound)
        figures = [value.number for value in self.figures.values()]
        return lambda bound: interval.mean_beyond(figures, self._bases, bound)

    @property
    def statistic(self) -> _Statistic:
        """The statistic that sums up the figures.

        In real time, the statistic is the median, because a single figure may be far from the others.
        """
        return "median" if self.real and self.by == "mean" else self.by

    @property
    def _bases(self) -> list[float]:
        return [self.base[which].number if self.base is not None else 1.0 for which in self.figures]

    @property
    def _is_constant(self) -> bool:
        return len({value.bounds for value in self.values}) == 1 and len(self.values) == len(self.figures)


def median_of(values: Sequence[Value]) -> Value:
    """Return the median, with its interval from order statistics. No figure is dropped.

    If the figures have bounds of their own, the interval goes from the low end of the lower bounds to the high end of
    the upper bounds. Equal figures give an interval of one point, which covers the median with the same probability.
    """
    lows, highs = (sorted(ends) for ends in zip(*(value.bounds for value in values), strict=True))
    skipped, coverage = interval.median(len(values)) if lows[0] < highs[-1] else (0, 1 - 2 / 2 ** len(values))
    numbers = [value.number for value in values]
    return Value(median(numbers), values[0].unit, lows[skipped], highs[-1 - skipped], coverage)


def _measured(metric: Callable[[Record], Value], record: Record) -> Value:
    found: Any = metric(record)
    if not isinstance(found, Value):
        raise TypeError(f"it returned {found!r}, which is not a Value")
    return found


def _widened(value: Value, share: float) -> Value:
    """Return the figure with bounds that are further apart by the share that its machine leaves uncertain."""
    if value.low is None and value.high is None:
        return value.within(share)
    low, high = (Value(end, value.unit).within(share).bounds[at] for at, end in enumerate(value.bounds))
    return Value(value.number, value.unit, low, high, value.coverage)


def independent(records: Iterable[Record]) -> list[Record]:
    """Return one record for each random draw.

    In virtual time, the repeats of a seed have equal bytes, and are used only once.
    """
    return list({_which(record): record for record in records}.values())


def _which(record: Record) -> tuple[int, int]:
    return record.trial.seed, record.trial.repeat if record.trial.clock == "real" else 0
