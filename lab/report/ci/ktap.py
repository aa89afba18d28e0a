"""Write KTAP, the kernel's own form of TAP (Documentation/dev-tools/ktap.rst). The parts of a case are its subtests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lab.report.ci.case import Case
from lab.report.ci.text import line, lines


def write(cases: Sequence[Case]) -> str:
    """Return the report. Undecided cases are reported as skipped, because KTAP has no other word for "not failed"."""
    return "\n".join(_level(cases, "")) + "\n"


def _level(cases: Sequence[Case], indent: str) -> Iterator[str]:
    yield f"{indent}KTAP version 1"
    yield f"{indent}1..{len(cases)}"
    for number, case in enumerate(cases, 1):
        if case.parts:
            yield from _level(case.parts, f"{indent}  ")
        elif case.outcome == "failed":
            yield from (f"{indent}# {each}" for each in lines(f"{case.message}\n{case.detail}") if each.strip())
        status = "not ok" if case.outcome == "failed" else "ok"
        name = line(case.name if indent else f"{case.group}/{case.name}")
        skipped = f" # SKIP {line(case.message)}" if case.outcome in ("skipped", "undecided") else ""
        yield f"{indent}{status} {number} {name}{skipped}".rstrip()
