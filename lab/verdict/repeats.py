"""Decide which repeats of a trial are valid and how many are enough. Verdicts and comparisons share these rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.guest import outputs
from lab.record.record import Record
from lab.verdict import fidelity


def faults(record: Record) -> tuple[str, ...]:
    """Return the reasons why a record is invalid: the network differed, or the machine was too slow for real time."""
    if record.trial.clock != "real":
        return tuple(record.invalid)
    watched = outputs.FIDELITY in record.outputs
    return (*record.invalid, *(fidelity.faults(record.json(outputs.FIDELITY)) if watched else (fidelity.UNWATCHED,)))


def uncertainty(record: Record) -> float:
    """Return the share by which a record's figures may be off because the machine did other work; 0 in virtual time."""
    if record.trial.clock != "real" or outputs.FIDELITY not in record.outputs:
        return 0.0
    return fidelity.uncertainty(record.json(outputs.FIDELITY))


def is_enough(valid: int, asked: int) -> bool:
    """Return whether at least half of the requested repeats are valid, and at least two unless only one was requested.

    With fewer, the result would depend on lucky repeats, and a single repeat shows no spread.
    """
    return valid >= max(min(asked, 2), (asked + 1) // 2)


@dataclass(frozen=True)
class Repeats:
    """Holds one case's valid repeats, the reasons why the others are invalid, and the requested number of repeats."""

    valid: tuple[Record, ...]
    reasons: tuple[tuple[str, ...], ...]
    asked: int

    @classmethod
    def of(cls, records: Sequence[Record], asked: int) -> Repeats:
        """Return the records, divided into valid and invalid ones."""
        judged = [(record, faults(record)) for record in records]
        valid = tuple(record for record, reasons in judged if not reasons)
        return cls(valid, tuple(reasons for _, reasons in judged if reasons), max(asked, len(records)))

    @property
    def are_enough(self) -> bool:
        """Return whether enough repeats are valid."""
        return is_enough(len(self.valid), self.asked)

    def __str__(self) -> str:
        """Return the number of valid repeats, and the reasons for the first invalid one in full."""
        if len(self.valid) == self.asked:
            return ""
        count = f"{len(self.valid)} of {self.asked} repeats count" if self.asked > 1 else ""
        why = "; ".join(self.reasons[0]) if self.reasons else "the others have no record"
        return f"{count}: {why}" if count else why
