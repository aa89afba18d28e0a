"""Tell which repeats of a trial count, and how many of them are enough. Judging and comparing share the rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab import outputs
from lab.record.record import Record
from lab.verdict import fidelity

__all__ = ["Repeats", "is_enough", "spoilt", "uncertainty"]


def spoilt(record: Record) -> tuple[str, ...]:
    """Return why a record does not count: the network was another one, or the machine too slow for real time."""
    if record.trial.clock != "real":
        return tuple(record.invalid)
    watched = outputs.FIDELITY in record.outputs
    return (*record.invalid, *(fidelity.faults(record.json(outputs.FIDELITY)) if watched else (fidelity.UNWATCHED,)))


def uncertainty(record: Record) -> float:
    """Return the share by which a record's figures may be off because its machine was away; 0 in virtual time."""
    if record.trial.clock != "real" or outputs.FIDELITY not in record.outputs:
        return 0.0
    return fidelity.uncertainty(record.json(outputs.FIDELITY))


def is_enough(valid: int, asked: int) -> bool:
    """Return whether half of what was asked for counts, and two at least unless one was asked for.

    Fewer would be a choice of the lucky ones, and of a single one nobody knows how far it is from the next.
    """
    return valid >= max(min(asked, 2), (asked + 1) // 2)


@dataclass(frozen=True)
class Repeats:
    """Hold the repeats of one case: those that count, why each of the others does not, and how many were asked for."""

    valid: tuple[Record, ...]
    reasons: tuple[tuple[str, ...], ...]
    asked: int

    @classmethod
    def of(cls, records: Sequence[Record], asked: int) -> Repeats:
        """Sort records into those that count and those that do not."""
        judged = [(record, spoilt(record)) for record in records]
        valid = tuple(record for record, reasons in judged if not reasons)
        return cls(valid, tuple(reasons for _, reasons in judged if reasons), max(asked, len(records)))

    @property
    def are_enough(self) -> bool:
        """Return whether enough of them count."""
        return is_enough(len(self.valid), self.asked)

    def __str__(self) -> str:
        """Say how many count, with the reasons of the first that does not in full: each has its own figures."""
        if len(self.valid) == self.asked:
            return ""
        count = f"{len(self.valid)} of {self.asked} repeats count" if self.asked > 1 else ""
        why = "; ".join(self.reasons[0]) if self.reasons else "the others have no record"
        return f"{count}: {why}" if count else why
