"""Decide whether a random figure differs between two kernels, or whether the samples are too few to tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lab.ext.comparison.statistics import MannWhitney, attainable, detectable, mann_whitney, ratio
from lab.units import Value
from lab.verdict.correction import LEVEL, holm

Decision = Literal["figure moved", "same figures", "cannot tell"]


@dataclass(frozen=True)
class Shift:
    """Compares all figures of a case on the base kernel with all its figures on the new kernel."""

    sizes: tuple[int, int]  # how many figures each sample has
    test: MannWhitney
    ratio: Value | None  # new over base, with its interval; None if a figure is not above 0
    is_constant: bool  # every figure of both samples is the same
    p: float | None = None  # corrected for the number of tests in the run; None: too few figures to show anything
    tests: int = 0  # the number of tests in the run

    @classmethod
    def between(cls, base: Sequence[float], new: Sequence[float]) -> Shift:
        """Return the comparison of two samples, each with at least one figure."""
        constant = len({*base, *new}) == 1
        return cls((len(base), len(new)), mann_whitney(base, new), ratio(base, new), constant)

    @property
    def is_testable(self) -> bool:
        """Return whether samples of these sizes can show any difference. Three figures against three cannot."""
        return self.test.least <= LEVEL

    @property
    def is_significant(self) -> bool:
        """Return whether the difference is unlikely to be chance, given the number of tests in the run."""
        return self.p is not None and self.p <= LEVEL

    @property
    def detectable(self) -> float | None:
        """Return the smallest relative change that such samples show in half of all cases, or None for no change."""
        return detectable(self.ratio) if self.ratio else None

    def decide(self, interest: float) -> Decision:
        """Decide with `interest`, the smallest relevant relative change.

        The figure moved if the test finds a difference and the ratio is relevant. The figure is unchanged if no value
        in the interval, which covers at least 95 %, is relevant. Otherwise, there is too little data to tell.
        """
        found = self.ratio
        if found is None or found.low is None or found.high is None:
            if self.is_significant:
                return "figure moved"
            return "same figures" if self.is_constant and attainable(*self.sizes) <= LEVEL else "cannot tell"
        if self.is_significant and abs(found.number - 1) > interest:
            return "figure moved"
        sure = detectable(found) is not None
        return "same figures" if sure and 1 - interest <= found.low <= found.high <= 1 + interest else "cannot tell"

    def plain(self) -> dict[str, Any]:
        """Return the shift as plain data for JSON."""
        return {
            "samples": list(self.sizes),
            "ratio": self.ratio.number if self.ratio else None,
            **{name: getattr(self.ratio, name, None) for name in ("low", "high", "coverage")},
            "p": self.test.p,
            "p_least": self.test.least,
            "p_corrected": self.p,
            "effect": self.test.effect,
            "detectable": self.detectable,
        }


def corrected(shifts: Sequence[Shift]) -> list[Shift]:
    """Return the shifts with p corrected for the number of tests in the run (Holm 1979).

    Tests that cannot show a difference cannot err either, so they are not included in this number (Tarone 1990).
    """
    tested = [shift.test.p for shift in shifts if shift.is_testable]
    found = iter(holm(tested))
    return [replace(each, p=next(found) if each.is_testable else None, tests=len(tested)) for each in shifts]
