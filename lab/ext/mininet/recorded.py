"""Describe the record of a Mininet script's run for `lab show`."""

from __future__ import annotations

import json
import shlex

from lab.app.recorded import RunDescription
from lab.ext.mininet.running import COMMAND, FILES, SAID, STATUS
from lab.guest.workload.program import content
from lab.record.record import Record, RecordError


def described(record: Record) -> RunDescription:
    """Return the script's command, its exit status, its output and its files. Raises RecordError."""
    try:
        start, *typed = map(str, json.loads(content(record.trial.workload["contents"], COMMAND)))
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{record.folder}: it has no script: {error}") from None
    seed = [] if record.trial.seed == 1 else ["--seed", str(record.trial.seed)]
    status = record.json(STATUS)["status"]
    return RunDescription(
        command=shlex.join(["lab", "mn" if start == "mn" else "mininet", *seed, *typed]),
        outcome="did not end in time" if status is None else f"exit status {status}",
        said=record.text(SAID),
        files={name.removeprefix(FILES): name for name in sorted(record.outputs) if name.startswith(FILES)},
    )
