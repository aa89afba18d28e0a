"""Write TAP, the Test Anything Protocol, version 13."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lab.report.ci.case import Case
from lab.report.ci.text import line, lines


def write(cases: Sequence[Case]) -> str:
    """Return the report: a line for each case, with comments below it. Undecided cases are marked as TODO."""
    return "\n".join(["TAP version 13", f"1..{len(cases)}", *_body(cases)]) + "\n"


def _body(cases: Sequence[Case]) -> Iterator[str]:
    for number, case in enumerate(cases, 1):
        status = "not ok" if case.outcome in ("failed", "undecided") else "ok"
        directive = {"skipped": f" # SKIP {line(case.message)}", "undecided": f" # TODO {line(case.message)}"}
        name = f"{line(case.group)}/{line(case.name)}"
        yield f"{status} {number} - {name}{directive.get(case.outcome, '')}".rstrip()
        if case.outcome == "failed":
            yield from (f"# {each}" for each in lines(f"{case.message}\n{case.detail}") if each.strip())
