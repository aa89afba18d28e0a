"""Take a sample: the figure of every trial of a case that counts. Judging and comparing share this, and its ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lab.record.record import Record
from lab.units import Value
from lab.verdict.judge import mean, median
from lab.verdict.repeats import uncertainty

__all__ = ["Sample", "independent"]


@dataclass(frozen=True)
class Sample:
    """Hold (seed, repeat) -> the figure of that trial. `real`: in real time."""

    figures: Mapping[tuple[int, int], Value]
    real: bool = False

    @classmethod
    def of(cls, metric: Callable[[Record], Value], records: Iterable[Record], real: bool) -> Sample:
        """Measure records that count, each figure within what its machine leaves uncertain.

        Raises what the metric raises.
        """
        return cls({_which(record): metric(record).within(uncertainty(record)) for record in records}, real)

    def over(self, base: Sample) -> Sample:
        """Return the ratios to another arm's figures, each of the same seed and repeat; a figure of 0 has none.

        A pair has in common what decides neither arm: the moment at which real-time trials run (a block holds one
        repeat of each arm), in virtual time the draws of a seed. So the ratios are again a sample of independent
        figures, to which the same median, interval and test apply. The ratio of the two arms' medians would have only
        bounds made of both arms' bounds, whose coverage nobody knows. Raises UnitError when the units differ.
        """
        both = sorted(self.figures.keys() & base.figures.keys())
        ratios = {which: self.figures[which].over(base.figures[which]) for which in both}
        return Sample({which: ratio for which, ratio in ratios.items() if ratio}, self.real or base.real)

    @property
    def numbers(self) -> list[float]:
        """Return the figures as numbers in the base unit."""
        return [value.number for value in self.figures.values()]

    @property
    def uncertain(self) -> str:
        """Say how far the least certain figure is known, where their machines were away; "" where all are exact."""
        shares = [1 - value.bounds[0] / value.number for value in self.figures.values() if value.number]
        most = max(shares, default=0.0)
        return f"known to {100 * most:.2g} %: for so long the machine may have been away" if most else ""

    @property
    def estimate(self) -> Value | None:
        """Return the figure of the case, with its interval: in real time the median, else the mean; None of nothing."""
        if not self.figures:
            return None
        values = list(self.figures.values())
        return median(values) if self.real else mean(values)


def independent(records: Iterable[Record]) -> list[Record]:
    """Return one record of each draw: in virtual time a seed's repeats are the same bytes, and count once."""
    return list({_which(record): record for record in records}.values())


def _which(record: Record) -> tuple[int, int]:
    return record.trial.seed, record.trial.repeat if record.trial.clock == "real" else 0
