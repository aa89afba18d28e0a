"""Write the reports for CI systems that a command was asked for; what writes them is imported only then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.ci.case import Case
    from lab.ci.report import Report

__all__ = ["asked", "exit_code"]


def asked(texts: Sequence[str] | None) -> tuple[Report, ...]:
    """Return the reports that the option names, each FORMAT=FILE. Raises InputError."""
    if not texts:
        return ()
    from lab.ci import report

    return report.asked(texts)


def exit_code(reports: Sequence[Report], cases: Callable[[], Sequence[Case]], usual: int) -> int:
    """Write each report on what `cases` returns; return the command's exit code, which nipa has its own for.

    Raises MachineError when a file cannot be written.
    """
    if not reports:
        return usual
    from lab.ci import report

    found = cases()
    report.write(reports, found)
    return report.exit_code(reports, found, usual)
