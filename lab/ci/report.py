"""Write the reports that were asked for, each in its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.ci import junit, ktap, nipa, tap
from lab.ci.case import Case
from lab.errors import InputError, MachineError

__all__ = ["FORMATS", "Report", "asked", "exit_code", "write"]

FORMATS: Mapping[str, Callable[[Sequence[Case]], str]] = {
    "tap": tap.write,
    "ktap": ktap.write,
    "junit": junit.write,
    "nipa": nipa.write,
}


@dataclass(frozen=True, slots=True)
class Report:
    """Names a format, and the file that the report goes to."""

    format: str
    file: Path


def asked(texts: Sequence[str]) -> tuple[Report, ...]:
    """Return the reports that texts like `junit=FILE` ask for. Raises InputError."""
    found = []
    for text in texts:
        kind, equals, file = text.partition("=")
        if kind not in FORMATS or not equals or not file:
            raise InputError(f"--report {text}: write it as FORMAT=FILE, where FORMAT is {', '.join(FORMATS)}")
        found.append(Report(kind, Path(file)))
    return tuple(found)


def write(reports: Sequence[Report], cases: Sequence[Case]) -> None:
    """Write each report. Raises MachineError when a file cannot be written."""
    for report in reports:
        try:
            report.file.parent.mkdir(parents=True, exist_ok=True)
            report.file.write_text(FORMATS[report.format](cases), encoding="utf-8")
        except OSError as error:
            raise MachineError(f"cannot write {report.file}: {error.strerror}") from None


def exit_code(reports: Sequence[Report], cases: Sequence[Case], usual: int) -> int:
    """Return the `usual` exit code or, where nipa reads what ran, the one that it understands."""
    return nipa.exit_code(cases) if usual in (0, 1) and any(each.format == "nipa" for each in reports) else usual
