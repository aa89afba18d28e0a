"""Say whether two records of one trial are the same to the byte, and if not, where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.record.record import Record

__all__ = ["ByteDifference", "byte_differences", "first_byte_difference"]

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ByteDifference:
    """Name an output that is not the same, and the first byte that differs."""

    output: str
    offset: int | None  # from 0; the shorter file's length if it begins the other; None: only one record has the output

    def __str__(self) -> str:
        return f"{self.output} is missing on one side" if self.offset is None else f"{self.output}, byte {self.offset}"

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        return {"file": self.output, "byte": self.offset}


def first_byte_difference(first: Record, second: Record) -> ByteDifference | None:
    """Say where two records first differ, outputs by name; None when every output is the same. Raises RecordError."""
    return next(byte_differences(first, second), None)


def byte_differences(first: Record, second: Record) -> Iterator[ByteDifference]:
    """Yield where each output that differs does so, by name. Raises RecordError."""
    for name in sorted({*first.outputs, *second.outputs}):
        if name not in first.outputs or name not in second.outputs:
            yield ByteDifference(name, None)
        elif first.outputs[name] != second.outputs[name]:
            yield ByteDifference(name, _offset(first.path(name), second.path(name)))


def _offset(first: Path, second: Path) -> int:
    at = 0
    with first.open("rb") as ours, second.open("rb") as theirs:
        while True:
            mine, other = ours.read(_CHUNK), theirs.read(_CHUNK)
            if mine != other or not mine:
                pairs = enumerate(zip(mine, other, strict=False))
                return at + next((index for index, (a, b) in pairs if a != b), min(len(mine), len(other)))
            at += len(mine)
