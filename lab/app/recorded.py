"""Find single records by name or address, and describe runs that belong to no experiment, such as those of suites."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from lab.app.extension import hook
from lab.errors import InputError
from lab.guest import outputs
from lab.record.record import Record, RecordError
from lab.spec.errors import display

_ADDRESS = re.compile("[0-9a-f]{6,64}")  # the first digits of an address, at least as many as make a collision unlikely
_SAID = f"{outputs.PROGRAM}.out"


@dataclass(frozen=True)
class RunDescription:
    """Describes a run that belongs to no experiment, in the words of the extension that made it."""

    command: str = ""  # that repeats it; "" if unknown
    outcome: str = ""
    said: str = ""  # its output
    files: Mapping[str, str] = field(default_factory=dict)  # the files that it wrote -> their names in the record


def named(name: str, records: Iterable[Record]) -> tuple[Record, ...]:
    """Return the records of a claim or an article, or the record whose address starts with `name` (6 digits or more).

    A damaged record has no name.
    """
    if _ADDRESS.fullmatch(name):
        found = tuple(record for record in records if record.address.startswith(name))
        if found:
            return found
    return tuple(record for record in records if claim_of(record) == name or claim_of(record).startswith(f"{name}/"))


def described(record: Record) -> RunDescription:
    """Return the description of a run. Raises RecordError for a damaged record."""
    article = claim_of(record).partition("/")[0]
    with suppress(InputError):  # the records of experiments have no hook
        describe: Callable[[Record], RunDescription] = hook(f"run of {article}", article)
        return describe(record)
    said = record.text(_SAID) if _SAID in record.outputs else ""
    return RunDescription(said=said, files={each: each for each in record.outputs})


def run_name(record: Record) -> str:
    """Return the command that repeats a run, or its claim, arm and point if the command is unknown, with the seed.

    Raises RecordError for a damaged record.
    """
    trial, command = record.trial, ""
    with suppress(RecordError):  # its inputs may not be those of today's lab
        command = described(record).command
    what = command or " ".join(filter(None, (trial.claim, trial.arm, trial.point)))
    return f"{what}, seed {trial.seed}" + (f", repeat {trial.repeat}" if trial.repeat else "")


def plain(record: Record) -> dict[str, Any]:
    """Return a record and its description as plain data for JSON."""
    trial, found = record.trial, described(record)
    return {
        "trial": record.address,
        "claim": trial.claim,
        "arm": trial.arm,
        "point": trial.point,
        "run": run_name(record),
        "command": found.command or None,
        "outcome": found.outcome or None,
        "kernel": trial.kernel.get("version"),
        "clock": trial.clock,
        "seed": trial.seed,
        "started": record.started,
        "invalid": list(record.invalid),
        "output": found.said,
        "folder": display(record.folder),
        "files": [{"file": name, "output": of, "bytes": record.outputs[of].bytes} for name, of in found.files.items()],
    }


def claim_of(record: Record) -> str:
    """Return the name of a record's claim or run; "" for a damaged record."""
    try:
        return record.trial.claim
    except RecordError:
        return ""
