"""Compare two records of one trial byte by byte, and find their first difference.

The comparison uses the hashes in the records. `require_whole` checks that the files still have these hashes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import InputError
from lab.record.record import Record

_CHUNK = 1 << 20
_NONE = object()
_NAMED = 5  # the most files that a message names


@dataclass(frozen=True, slots=True)
class ByteDifference:
    """Names an output that differs, and its first different byte."""

    output: str
    offset: int | None  # from 0; at most the shorter file's length; None: only one record has the output

    def __str__(self) -> str:
        return f"{self.output} is missing on one side" if self.offset is None else f"{self.output}, byte {self.offset}"

    def plain(self) -> dict[str, Any]:
        """Return the difference as plain data for JSON."""
        return {"file": self.output, "byte": self.offset}


def require_whole(records: Iterable[Record]) -> None:
    """Hash every file of these records. Raises InputError with the names of altered files."""
    found = list(records)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:  # hashing releases Python's global lock
        faults = [
            f"{record.folder / fault.file} {fault.what}"
            for record, some in zip(found, pool.map(Record.faults, found), strict=True)
            for fault in some
        ]
    if faults:
        more = f", and {len(faults) - _NAMED} more" if len(faults) > _NAMED else ""
        raise InputError(
            f"nothing was compared: {', '.join(faults[:_NAMED])}{more} (`lab store fsck` lists every such file)"
        )


def first_difference(first: Record, second: Record) -> str:
    """Return the first difference between two records of one trial: in outputs, environment or validity.

    Return "" if all three are equal. Raises RecordError.
    """
    for difference in byte_differences(first, second):
        return str(difference)
    if first.environment != second.environment:
        place = _place(first.environment, second.environment)
        return f"record.json, environment{place}"
    return "record.json, invalid" if first.invalid != second.invalid else ""


def _place(first: Any, second: Any) -> str:
    """Return the path of the first value that differs, from the outermost key inwards."""
    place = ""
    while isinstance(first, dict) and isinstance(second, dict):
        name = next(name for name in sorted({*first, *second}) if first.get(name, _NONE) != second.get(name, _NONE))
        place += f".{name}"
        first, second = first.get(name), second.get(name)
    return place


def byte_differences(first: Record, second: Record) -> Iterator[ByteDifference]:
    """Yield the first difference of each output that differs, by name. Raises RecordError."""
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
