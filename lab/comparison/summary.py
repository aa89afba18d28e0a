"""Sum up what changed in all claims: how many of each kind, by how many tests, and in what first packets differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from lab.comparison.compare import Change, ClaimChange
from lab.comparison.statistics import LEVEL

__all__ = ["Tests", "causes", "counts", "sentence", "tests"]


@dataclass(frozen=True)
class Tests:
    """Count the tests of figures that chance has a part in; those that are `too_few` figures can show nothing."""

    tested: int
    too_few: int

    def __str__(self) -> str:
        """Say it in words; "" when no figure has chance in it."""
        if not self.tested + self.too_few:
            return ""
        said = f"{self.tested} figure{'' if self.tested == 1 else 's'} tested, corrected for one another (Holm)"
        return said + (f"; {self.too_few} of too few repeats to test" if self.too_few else "")

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        return {"tested": self.tested, "too_few": self.too_few, "level": LEVEL, "correction": "Holm"}


def tests(changes: Sequence[ClaimChange]) -> Tests:
    """Count the tests of all claims."""
    shifts = [case.shift for change in changes for case in change.cases if case.shift]
    untested = [shift for shift in shifts if not shift.is_testable]
    return Tests(len(shifts) - len(untested), sum(not shift.is_constant for shift in untested))


def counts(changes: Sequence[ClaimChange]) -> dict[Change, int]:
    """Count the claims that changed in each way, zeros included: from a changed verdict to identical."""
    kinds = [each.change for each in changes]
    return {kind: kinds.count(kind) for kind in get_args(Change)}


def sentence(changes: Sequence[ClaimChange]) -> str:
    """Say both in words: '3 claims: 1 figure moved, 2 identical; 4 figures tested, corrected ... (Holm)'."""
    said = ", ".join(f"{count} {kind}" for kind, count in counts(changes).items() if count)
    tested = str(tests(changes))
    return f"{len(changes)} claim{'' if len(changes) == 1 else 's'}: {said}" + (f"; {tested}" if tested else "")


def causes(changes: Sequence[ClaimChange]) -> dict[str, tuple[str, ...]]:
    """Return what first packets differ in (`PacketDifference.what`) -> the claims where they do; most claims first.

    A claim stands in several places when its cases differ in several ways.
    """
    found: dict[str, dict[str, None]] = {}
    for change in changes:
        for case in change.cases:
            if where := case.packets.divergence:
                found.setdefault(where.what, {})[change.claim] = None
    return {what: tuple(found[what]) for what in sorted(found, key=lambda what: (-len(found[what]), what))}
