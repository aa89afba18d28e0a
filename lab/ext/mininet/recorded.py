"""Describe the record of a Mininet script's run, and the command that runs it again."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from lab.app.recorded import RunDescription
from lab.ext.mininet import wires
from lab.ext.mininet.running import COMMAND, FILES, SAID, STATUS
from lab.guest.workload.program import content
from lab.record.record import Record, RecordError

MN = "mn"


@dataclass(frozen=True)
class RecordedCommand:
    """Holds the command that a record ran."""

    words: tuple[str, ...]  # the script, or mn, and its arguments
    again: str  # the lab's command that runs it again


def command_of(record: Record) -> RecordedCommand:
    """Return the command that a record ran. Raises RecordError if it is not a script."""
    try:
        start, *rest = json.loads(content(record.trial.workload["contents"], COMMAND))
        words = (MN, *rest) if start == MN else tuple(rest)
        if not words or not all(isinstance(each, str) for each in words):
            raise ValueError("its command is not a list of words")
        packets = record.trial.workload["argv"][-1]
    except (LookupError, TypeError, ValueError) as error:
        raise RecordError(f"{record.address[:12]} is not the record of a Mininet script: {error}") from None
    options = ["--exact"] if wires.is_exact(record) else []
    options += ["--no-capture"] if packets == "0" else []
    options += [] if record.trial.seed == 1 else ["--seed", str(record.trial.seed)]
    typed = words if start == MN else ("mininet", *words)
    return RecordedCommand(words, shlex.join(["lab", typed[0], *options, *typed[1:]]))


def outcome_of(record: Record) -> str:
    """Return how a record's script ended."""
    status = record.json(STATUS).get("status")
    return "did not end in time" if status is None else f"exit status {status}"


def described(record: Record) -> RunDescription:
    """Return the script's command, its exit status, its output and its files. Raises RecordError."""
    return RunDescription(
        command=command_of(record).again,
        outcome=outcome_of(record),
        said=record.text(SAID),
        files={name.removeprefix(FILES): name for name in sorted(record.outputs) if name.startswith(FILES)},
    )
