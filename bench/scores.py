"""Score predictions of cases that were drawn: who answers which of them, and how far off the answers are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

from bench.draw import Drawn
from lab.units import Value, to_plain
from lab.verdict import Result

QUANTILES = (0.5, 0.9, 0.95, 0.99, 1.0)


@dataclass(frozen=True)
class Score:
    """Holds what came of one case."""

    drawn: Drawn
    result: Result

    @property
    def answered(self) -> bool:
        """Return whether its prediction has a figure."""
        return self.result.predicted is not None

    @property
    def silence(self) -> str:
        """Return why it cannot be scored, in the lab's own words: nothing was predicted, or measured; '' if it can."""
        verdict = self.result.verdict
        if self.result.why_not_predicted:
            return self.result.why_not_predicted
        return f"{verdict.kind}: {verdict.reason}" if self.result.measured is None and verdict else ""

    @property
    def simulation(self) -> float | None:
        """Return the relative error of a simulation; None where the prediction is a law, or there is none."""
        asked = self.result.prediction
        return _error(self.result.predicted, self.result.measured) if asked and asked.kind == "simulation" else None

    @property
    def law(self) -> float | None:
        """Return the relative error of the law, which stands beside the simulation or alone."""
        asked = self.result.prediction
        stands_alone = asked and asked.kind in ("law", "replay")
        return _error(self.result.predicted if stands_alone else self.result.law, self.result.measured)

    @property
    def missed(self) -> bool:
        """Return whether the prediction is further off than such a case allows: it needs an explanation."""
        error = _error(self.result.predicted, self.result.measured)
        return error is not None and error > self.drawn.allowed

    def plain(self) -> dict[str, Any]:
        """Return it for JSON, with all that decides the trial; its arm is what is predicted."""
        case = self.drawn.case
        return {
            "number": self.drawn.number,
            "kernel": self.drawn.kernel,
            "seed": self.drawn.seed,
            "network": to_plain(case.network),
            "workload": to_plain(case.workload),
            "silence": self.silence or None,
            "missed": self.missed,
            **self.result.plain(),
        }


@dataclass(frozen=True)
class Spread:
    """Holds how errors are distributed."""

    count: int
    quantiles: tuple[float, ...]  # of their sizes, at QUANTILES; none of nothing

    @classmethod
    def of(cls, errors: Iterable[float | None]) -> Spread:
        """Sort what errors there are; a quantile is the least of them that so many do not exceed."""
        known = sorted(error for error in errors if error is not None)
        return cls(len(known), tuple(known[ceil(share * len(known)) - 1] for share in QUANTILES) if known else ())

    def plain(self) -> dict[str, Any]:
        """Return it for JSON; null is a figure that should have been 0, and was not."""
        named = {f"{100 * share:g} %": error for share, error in zip(QUANTILES, self.quantiles, strict=False)}
        return {"count": self.count, **{name: None if error == inf else error for name, error in named.items()}}


@dataclass(frozen=True)
class Summary:
    """Holds the scores of a group of cases."""

    name: str
    drawn: int
    answered: int
    simulation: Spread
    law: Spread

    @classmethod
    def of(cls, name: str, scores: Sequence[Score]) -> Summary:
        """Sum scores up."""
        return cls(
            name,
            len(scores),
            sum(score.answered for score in scores),
            Spread.of(score.simulation for score in scores),
            Spread.of(score.law for score in scores),
        )

    def plain(self) -> dict[str, Any]:
        """Return it for JSON."""
        counts = {"drawn": self.drawn, "answered": self.answered}
        return {**counts, "simulation": self.simulation.plain(), "law": self.law.plain()}


def summaries(scores: Iterable[Score], name: Callable[[Score], str]) -> list[Summary]:
    """Sum scores up by what `name` calls them, sorted by it."""
    groups: dict[str, list[Score]] = {}
    for score in scores:
        groups.setdefault(name(score), []).append(score)
    return [Summary.of(group, having) for group, having in sorted(groups.items())]


def silences(scores: Iterable[Score]) -> list[tuple[str, int]]:
    """Count the cases without a score by their reason, the most frequent first."""
    return Counter(score.silence for score in scores if score.silence).most_common()


def _error(predicted: Value | None, measured: Value | None) -> float | None:
    """Return how far the prediction is off, of the measured figure; inf where that is 0 and the prediction is not."""
    if predicted is None or measured is None or predicted.unit != measured.unit:
        return None
    low, high = predicted.bounds
    off = abs(min(max(measured.number, low), high) - measured.number)
    return off / abs(measured.number) if measured.number else inf if off else 0.0
