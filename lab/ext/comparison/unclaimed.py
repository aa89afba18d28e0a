"""Compare the records in two stores that belong to no experiment, such as records of scripts and test suites."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import unified_diff
from itertools import islice, product
from typing import Any, Literal

from msgspec import structs

from lab.app.recorded import run_name
from lab.errors import LabError
from lab.ext.comparison.captures import PacketChange, captured
from lab.guest import outputs
from lab.guest.trial import HOST
from lab.record.identity import ByteDifference, byte_differences
from lab.record.record import Record, RecordError

SAID = f"{outputs.PROGRAM}.out"
MOST_LINES = 1000  # of each side's output that the lab compares
SHOWN_LINES = 20  # that differ


@dataclass(frozen=True)
class RecordChange:
    """Describes how a trial's outputs differ between two kernels."""

    name: str  # claim, arm and point
    run: str  # the command that repeats it, or its name; with its seed
    addresses: tuple[str, str]  # base and new
    kernels: tuple[str, str]
    files: tuple[ByteDifference, ...]
    packets: PacketChange
    said: tuple[str, ...]  # the lines of standard output that differ: "-" from the base, "+" from the new record

    @property
    def change(self) -> Literal["output changed", "packets differ", "files differ", "identical"]:
        """The most important difference."""
        if any(each.output == SAID for each in self.files):
            return "output changed"
        if self.packets.said == "differ":
            return "packets differ"
        return "files differ" if self.files else "identical"

    @property
    def has_changed(self) -> bool:
        """Return whether the program's output changed."""
        return self.change == "output changed"

    def plain(self) -> dict[str, Any]:
        """Return the change as plain data for JSON."""
        where = self.packets.divergence
        return {
            "trial": self.name,
            "run": self.run,
            "addresses": list(self.addresses),
            "kernels": list(self.kernels),
            "change": self.change,
            "output": list(self.said),
            "files": [each.plain() for each in self.files],
            "packets": self.packets.said,
            "packet": where and {"capture": self.packets.capture, "number": where.number, "what": where.what},
        }


def unclaimed(records: Iterable[Record], claims: Collection[str]) -> Iterator[Record]:
    """Yield the readable records whose claim is not in `claims`."""
    for record in records:
        try:
            if record.trial.claim not in claims:
                yield record
        except RecordError:
            continue


def compare(base: Iterable[Record], new: Iterable[Record]) -> tuple[RecordChange, ...]:
    """Return the change of each trial that both sides ran, regardless of their kernels, userlands and tools.

    Raises RecordError for an unreadable output.
    """
    before, after = _by_inputs(base), _by_inputs(new)
    return tuple(_change(*pair) for key in before if key in after for pair in product(before[key], after[key]))


def _by_inputs(records: Iterable[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        inputs = structs.replace(record.trial, kernel={}, tools={}, userland=HOST)
        found.setdefault(inputs.address, []).append(record)
    return found


def _change(base: Record, new: Record) -> RecordChange:
    try:
        packets = captured(base, new)
    except LabError:  # a program may leave captures of another format
        packets = PacketChange(None)
    return RecordChange(
        " ".join(filter(None, (new.trial.claim, new.trial.arm, new.trial.point))),
        run_name(new),
        (base.address, new.address),
        (str(base.trial.kernel.get("name", "")), str(new.trial.kernel.get("name", ""))),
        tuple(byte_differences(base, new)),
        packets,
        tuple(_lines(base, new)),
    )


def _lines(base: Record, new: Record) -> Iterator[str]:
    lines = unified_diff(_said(base), _said(new), n=0, lineterm="")
    yield from islice((line for line in islice(lines, 2, None) if not line.startswith("@@")), SHOWN_LINES)


def _said(record: Record) -> list[str]:
    if SAID not in record.outputs:
        return []
    with record.path(SAID).open(encoding="utf-8", errors="replace") as lines:
        return [line.rstrip()[:500] for line in islice(lines, MOST_LINES)]
