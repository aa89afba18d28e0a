"""Write the requested reports for CI systems. Their writers are imported only if needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.report.ci.case import Case
    from lab.report.ci.report import Report


def asked(texts: Sequence[str] | None) -> tuple[Report, ...]:
    """Return the reports that the option names, each FORMAT=FILE. Raises InputError."""
    if not texts:
        return ()
    from lab.report.ci import report

    return report.asked(texts)


def exit_code(reports: Sequence[Report], cases: Callable[[], Sequence[Case]], usual: int) -> int:
    """Write each report from the result of `cases`, and return the command's exit code. nipa has its own exit codes.

    Raises MachineError if a file cannot be written.
    """
    if not reports:
        return usual
    from lab.report.ci import report

    found = cases()
    report.write(reports, found)
    return report.exit_code(reports, found, usual)
