"""Decide which repeats of a trial count, and how many are enough. Judging and comparing share the rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.guest import outputs
from lab.record.record import Record
from lab.verdict import fidelity


def faults(record: Record) -> tuple[str, ...]:
    """Return why a record does not count: the network differed, or the machine was too slow for real time."""
    if record.trial.clock != "real":
        return tuple(record.invalid)
    watched = outputs.FIDELITY in record.outputs
    return (*record.invalid, *(fidelity.faults(record.json(outputs.FIDELITY)) if watched else (fidelity.UNWATCHED,)))


def uncertainty(record: Record) -> float:
    """Return by which share a record's figures may be off because the machine did other work; 0 in virtual time."""
    if record.trial.clock != "real" or outputs.FIDELITY not in record.outputs:
        return 0.0
    return fidelity.uncertainty(record.json(outputs.FIDELITY))


def is_enough(valid: int, asked: int) -> bool:
    """Return whether at least half of the requested repeats count, and at least two unless only one was requested.

    A smaller number would select the lucky repeats, and a single repeat shows no spread.
    """
    return valid >= max(min(asked, 2), (asked + 1) // 2)


@dataclass(frozen=True)
class Repeats:
    """Holds the repeats of one case: those that count, the reasons why the others do not, and the number requested."""

    valid: tuple[Record, ...]
    reasons: tuple[tuple[str, ...], ...]
    asked: int

    @classmethod
    def of(cls, records: Sequence[Record], asked: int) -> Repeats:
        """Return the records, divided into those that count and those that do not."""
        judged = [(record, faults(record)) for record in records]
        valid = tuple(record for record, reasons in judged if not reasons)
        return cls(valid, tuple(reasons for _, reasons in judged if reasons), max(asked, len(records)))

    @property
    def are_enough(self) -> bool:
        """Return whether enough repeats count."""
        return is_enough(len(self.valid), self.asked)

    def __str__(self) -> str:
        """Return how many repeats count, with the full reasons for the first that does not, since each has its own
        figures.
        """
        if len(self.valid) == self.asked:
            return ""
        count = f"{len(self.valid)} of {self.asked} repeats count" if self.asked > 1 else ""
        why = "; ".join(self.reasons[0]) if self.reasons else "the others have no record"
        return f"{count}: {why}" if count else why
