"""Sum up the changes of all claims: the number of each kind, the number of tests, and the fields that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from lab.ext.comparison.compare import Change, ClaimChange
from lab.report.wording import plural
from lab.verdict.correction import LEVEL

_COUNTED: dict[Change, tuple[str, str]] = {  # in the words of a sentence: of one claim, of several
    "verdict changed": ("verdict changed", "verdicts changed"),
    "figure moved": ("figure moved", "figures moved"),
    "packets differ": ("with different packets", "with different packets"),
    "same figures": ("with the same figures", "with the same figures"),
    "same packets": ("with the same packets", "with the same packets"),
}


@dataclass(frozen=True)
class Tests:
    """Counts the tests of random figures. `too_few` of these tests have too few figures to show a difference."""

    tested: int
    too_few: int

    def __str__(self) -> str:
        """Return the counts in words, or "" without a random figure."""
        if not self.tested + self.too_few:
            return ""
        said = f"{plural(self.tested, 'figure')} tested, corrected for one another (Holm)"
        return said + (f"; too few repeats for {self.too_few} of them" if self.too_few else "")

    def plain(self) -> dict[str, Any]:
        """Return this as plain data for JSON."""
        return {"tested": self.tested, "too_few": self.too_few, "level": LEVEL, "correction": "Holm"}


def tests(changes: Sequence[ClaimChange]) -> Tests:
    """Return the test counts of all claims."""
    shifts = [case.shift for change in changes for case in change.cases if case.shift]
    untested = [shift for shift in shifts if not shift.is_testable]
    return Tests(len(shifts) - len(untested), sum(not shift.is_constant for shift in untested))


def counts(changes: Sequence[ClaimChange]) -> dict[Change, int]:
    """Return the number of claims for each kind of change, including zeros, from a changed verdict to identical."""
    kinds = [each.change for each in changes]
    return {kind: kinds.count(kind) for kind in get_args(Change)}


def sentence(changes: Sequence[ClaimChange]) -> str:
    """Return the counts in words: '4 claims: 2 figures moved, 2 identical; 4 figures tested, corrected ... (Holm)'."""
    said = ", ".join(f"{count} {_words(kind, count)}" for kind, count in counts(changes).items() if count)
    tested = str(tests(changes))
    return f"{plural(len(changes), 'claim')}: {said}" + (f"; {tested}" if tested else "")


def _words(kind: Change, count: int) -> str:
    one, several = _COUNTED.get(kind, (kind, kind))
    return one if count == 1 else several


def causes(changes: Sequence[ClaimChange]) -> dict[str, tuple[str, ...]]:
    """Return the claims for each set of fields in which first packets differ (`PacketDifference.what`), most claims
    first.

    A claim appears several times if its cases differ in several ways.
    """
    found: dict[str, dict[str, None]] = {}
    for change in changes:
        for case in change.cases:
            if where := case.packets.divergence:
                found.setdefault(where.what, {})[change.claim] = None
    return {what: tuple(found[what]) for what in sorted(found, key=lambda what: (-len(found[what]), what))}
