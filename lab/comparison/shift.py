"""Decide whether a figure that chance has a part in differs between two kernels, and when nobody can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lab.comparison.statistics import LEVEL, MannWhitney, attainable, detectable, holm, mann_whitney, ratio
from lab.units import Value

__all__ = ["Decision", "Shift", "corrected"]

Decision = Literal["figure moved", "same figures", "cannot tell"]


@dataclass(frozen=True)
class Shift:
    """Compare all figures of a case on the base kernel with all on the new one."""

    sizes: tuple[int, int]  # how many figures each sample has
    test: MannWhitney
    ratio: Value | None  # new over base, with its interval; None where a figure is not above 0
    is_constant: bool  # every figure of both is the same
    p: float | None = None  # corrected for the tests of the run; None: so few figures can show nothing
    tests: int = 0  # how many the run has

    @classmethod
    def between(cls, base: Sequence[float], new: Sequence[float]) -> Shift:
        """Test two samples, each of at least one figure."""
        constant = len({*base, *new}) == 1
        return cls((len(base), len(new)), mann_whitney(base, new), ratio(base, new), constant)

    @property
    def is_testable(self) -> bool:
        """Return whether so many figures can show a difference at all: three against three cannot."""
        return self.test.least <= LEVEL

    @property
    def is_significant(self) -> bool:
        """Return whether chance is an unlikely reason for the difference, among as many tests as the run has."""
        return self.p is not None and self.p <= LEVEL

    @property
    def detectable(self) -> float | None:
        """Return the smallest relative change that such samples show in half of all cases; None: no change at all."""
        return detectable(self.ratio) if self.ratio else None

    def decide(self, interest: float) -> Decision:
        """Decide with `interest`, the smallest relative change that matters.

        It moved when the test says so and the ratio found matters; it is the same when the whole interval, of at least
        95 %, does not matter. Everything else is too little to tell.
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
        """Return this for JSON."""
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
    """Correct the tests of a run for one another (Holm 1979).

    Those that can show nothing, whatever they find, cannot err either, and do not count (Tarone 1990).
    """
    tested = [shift.test.p for shift in shifts if shift.is_testable]
    found = iter(holm(tested))
    return [replace(each, p=next(found) if each.is_testable else None, tests=len(tested)) for each in shifts]
