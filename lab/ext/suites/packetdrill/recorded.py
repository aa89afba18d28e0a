"""Describe the record of a packetdrill script for `lab show`."""

from __future__ import annotations

from collections.abc import Iterator

from lab.app.recorded import RunDescription
from lab.ext.suites.packetdrill.verdict import runs
from lab.record.record import Record


def described(record: Record) -> RunDescription:
    """Return the script's command, whether it holds with each IP version, and its errors. Raises RecordError."""
    ran = runs(record)
    held = sum(run.holds for run in ran)

    def lines() -> Iterator[str]:
        for run in ran:
            yield f"{run.version}: {'passed' if run.holds else 'failed'}"
            if complaint := run.complaint:
                yield f"  line {complaint.line}: {complaint.message}" if complaint.line else f"  {complaint.message}"
                if complaint.expected:
                    yield f"  expected {complaint.expected}"
                    yield f"  seen     {complaint.seen or 'nothing'}"

    return RunDescription(
        command=f"lab packetdrill run {record.trial.claim.partition('/')[2]}",
        outcome="passed" if held == len(ran) else f"failed in {len(ran) - held} of {len(ran)} runs",
        said="\n".join(lines()),
        files={name: name for name in sorted(record.outputs)},
    )
