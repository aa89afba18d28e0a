"""Describe the record of a kernel selftest for `lab show`."""

from __future__ import annotations

from lab.app.recorded import RunDescription
from lab.ext.suites.selftest.verdict import SAID, judge
from lab.record.record import Record


def described(record: Record) -> RunDescription:
    """Return the test's outcome, its output and its files. Raises RecordError."""
    name = str(record.trial.workload["argv"][-2]).removeprefix("net/")
    judged = judge(name, str(record.trial.kernel.get("version", "")), record.address, record)
    return RunDescription(
        command=f"lab selftest run {name}",
        outcome=f"{judged.outcome}: {judged.reason}" if judged.reason else judged.outcome,
        said=record.text(SAID),
        files={each: each for each in sorted(record.outputs)},
    )
