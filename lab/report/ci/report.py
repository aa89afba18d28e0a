"""Write the requested reports, each in its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.base import writing
from lab.errors import InputError
from lab.report.ci import junit, ktap, nipa, tap
from lab.report.ci.case import Case
from lab.spec.errors import instead

FORMATS: Mapping[str, Callable[[Sequence[Case]], str]] = {
    "tap": tap.write,
    "ktap": ktap.write,
    "junit": junit.write,
    "nipa": nipa.write,
}


@dataclass(frozen=True, slots=True)
class Report:
    """Names the format and the file of a report."""

    format: str
    file: Path


def asked(texts: Sequence[str]) -> tuple[Report, ...]:
    """Return the reports for texts like `junit=FILE`. Raises InputError."""
    found = []
    for text in texts:
        kind, equals, file = text.partition("=")
        if not (kind and equals and file):
            raise InputError(
                f"--report {text} has no format and file; write it as FORMAT=FILE, where FORMAT is {', '.join(FORMATS)}"
            )
        if kind not in FORMATS:
            raise InputError(f"--report {text}: unknown format '{kind}'{instead(kind, FORMATS)}")
        found.append(Report(kind, Path(file)))
    return tuple(found)


def write(reports: Sequence[Report], cases: Sequence[Case]) -> None:
    """Write each report. Raises MachineError if a file cannot be written."""
    for report in reports:
        writing.write(FORMATS[report.format](cases), report.file)


def exit_code(reports: Sequence[Report], cases: Sequence[Case], usual: int) -> int:
    """Return the `usual` exit code, or nipa's own exit code if there is a report for nipa."""
    return nipa.exit_code(cases) if usual in (0, 1) and any(each.format == "nipa" for each in reports) else usual
