"""Define the card: each case's figure and points, and the scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from lab.ext.cc.cases import JudgeCase
from lab.ext.cc.scale import MOST, Score, by_case, by_criterion
from lab.record.record import Record
from lab.units import Value

NOTABLE = 10.0  # points below the references that the card may point out


@dataclass(frozen=True)
class CaseScore:
    """Holds the outcome of one case: its figure, and its points seed by seed.

    A seed without a figure earns 0 points, and `why` has the reason. A case that cannot run on the kernel has no seeds,
    and no place in the score.
    """

    case: JudgeCase
    figure: Value | None
    seeds: tuple[float, ...]
    why: str = ""
    references: Mapping[str, float] = field(default_factory=dict)  # well-known ones' points with the same seeds
    known: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # their points with each of their seeds
    base: str = ""  # the reference that the judged congestion control changes; "" if it is no reference
    others: Mapping[str, Value] = field(default_factory=dict)  # the study's other figures
    paths: Mapping[str, float] = field(default_factory=dict)  # changed path -> points with the first seed
    records: tuple[Record, ...] = ()

    @property
    def score(self) -> Score | None:
        """The case's points; None if it cannot run."""
        return Score.of(self.seeds) if self.seeds else None

    @property
    def compared(self) -> Mapping[str, float]:
        """The references that the case is compared with: only its base, or all if it has no base."""
        return {self.base: self.references[self.base]} if self.base in self.references else self.references

    @property
    def below(self) -> float:
        """How many points the case is below all references that it is compared with; 0 if it is not below."""
        if self.score is None or not self.compared:
            return 0.0
        return max(0.0, min(self.compared.values()) - self.score.points)

    @property
    def is_low(self) -> bool:
        """Whether the case is more than `NOTABLE` points below all that it is compared with, and beyond their scatter.

        The difference must exceed the range of a reference's points over its seeds. With several seeds, the intervals
        must not overlap either.
        """
        return bool(self.compared) and all(map(self._is_below, self.compared))

    def _is_below(self, reference: str) -> bool:
        score, known = self.score, self.known[reference]
        if score is None or self.references[reference] - score.points <= max(NOTABLE, max(known) - min(known)):
            return False
        low = Score.of(known).low
        return score.high is None or low is None or score.high < low

    @property
    def furthest(self) -> tuple[str, float] | None:
        """The changed path that moves the points most, with the difference; None without changed paths."""
        moved = {path: points - self.seeds[0] for path, points in self.paths.items()}
        return max(moved.items(), key=lambda each: abs(each[1])) if moved else None

    def plain(self) -> dict[str, Any]:
        """Return the outcome as plain data for JSON. Figures are in base units."""
        score, figure = self.score, self.figure
        return {
            "case": self.case.name,
            "title": self.case.title,
            "criterion": self.case.criterion,
            "figure": self.case.figure,
            "value": figure and figure.number,
            "low": figure and figure.low,
            "high": figure and figure.high,
            "unit": self.case.scale.all.unit,
            "points": score and score.plain(),
            "seeds": list(self.seeds),
            "why": self.why or None,
            "references": dict(self.references),
            "compared": list(self.compared),
            "below": self.below,
            "others": {name: {"value": each.number, "unit": each.unit} for name, each in self.others.items()},
            "laws": {name: each.plain() for name, each in self.case.laws.items()},
            "paths": dict(self.paths),
            "trials": [record.address for record in self.records],
        }


@dataclass(frozen=True)
class Mixture:
    """Holds how the flow under judgement and one rival share a bottleneck."""

    rival: str
    figures: Mapping[str, Value]
    why: str = ""

    def plain(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON."""
        figures = {
            name: {"value": each.number, "low": each.low, "high": each.high, "unit": each.unit}
            for name, each in self.figures.items()
        }
        return {"rival": self.rival, "figures": figures, "why": self.why or None}


@dataclass(frozen=True)
class Card:
    """Holds what the judge found about one congestion control."""

    control: str
    kernel: Mapping[str, Any]  # as in records
    is_quick: bool
    seed: int
    cases: tuple[CaseScore, ...]
    mixtures: tuple[Mixture, ...]
    measured_on: str  # the kernel of the reference figures
    scales: str  # a hash of the pack's cases and scales; scores of cards with other hashes are not comparable

    @property
    def scored(self) -> Sequence[CaseScore]:
        """The cases that count for the score."""
        return [each for each in self.cases if each.seeds]

    @property
    def scores(self) -> Mapping[str, Score]:
        """The scores, by their weighting: every case, or every criterion, counts the same."""
        points = _by_criterion(self.scored)
        return {"case": by_case(points), "criterion": by_criterion(points)} if points else {}

    @property
    def reference_scores(self) -> Mapping[str, float]:
        """The references' scores in which every case counts the same, without references that miss a case's figure."""
        names = dict.fromkeys(name for each in self.scored for name in each.references)
        found = {name: [each.references.get(name) for each in self.scored] for name in names}
        return {
            name: fmean(each for each in points if each is not None)
            for name, points in found.items()
            if None not in points
        }

    @property
    def is_comparable(self) -> bool:
        """Whether the references were measured on a kernel of the same version."""
        return _upstream(self.measured_on) == _upstream(str(self.kernel["version"]))

    @property
    def notable(self) -> Sequence[CaseScore]:
        """The cases that are far below what they are compared with (`is_low`), the worst first.

        There are none if the references were measured on another version.
        """
        low = [each for each in self.scored if each.is_low] if self.is_comparable else []
        return sorted(low, key=lambda each: -each.below)

    def plain(self) -> dict[str, Any]:
        """Return the card as plain data for JSON."""
        return {
            "control": self.control,
            "kernel": dict(self.kernel),
            "quick": self.is_quick,
            "scales": self.scales,
            "seed": self.seed,
            "most": MOST,
            "score": {name: each.plain() for name, each in self.scores.items()},
            "references": dict(self.reference_scores),
            "references_measured_on": self.measured_on or None,
            "notable": [each.case.name for each in self.notable],
            "cases": [each.plain() for each in self.cases],
            "mixtures": [each.plain() for each in self.mixtures],
        }


def _upstream(version: str) -> str:
    """Return a kernel's version without that of the package: 7.2.13 for 7.2.13-1."""
    return version.partition("-")[0]


def _by_criterion(scored: Iterable[CaseScore]) -> Mapping[str, list[tuple[float, ...]]]:
    found: dict[str, list[tuple[float, ...]]] = {}
    for each in scored:
        found.setdefault(each.case.criterion, []).append(each.seeds)
    return found
