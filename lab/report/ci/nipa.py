"""Write results in the format of nipa, the CI of the kernel's network developers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from lab.report.ci.case import Case, Outcome

RESULTS: dict[Outcome, str] = {"passed": "pass", "failed": "fail", "skipped": "skip", "undecided": "warn"}


def write(cases: Sequence[Case]) -> str:
    """Return a JSON list of `{"test", "group", "result", "link"}`, with the time in seconds and the parts of each
    test.
    """
    return json.dumps([_plain(case) for case in cases], indent=1) + "\n"


def exit_code(cases: Sequence[Case]) -> int:
    """Return the exit code for nipa's executor: 0 passed, 1 failed, 4 all skipped, 5 passed with a warning."""
    outcomes = {case.outcome for case in cases}
    if "failed" in outcomes:
        return 1
    if outcomes <= {"skipped"}:
        return 4
    return 5 if outcomes - {"passed"} else 0


def _plain(case: Case) -> dict[str, object]:
    plain: dict[str, object] = {
        "test": _name(case.name),
        "group": _name(case.group),
        "result": RESULTS[case.outcome],
        "link": case.link,
        "time": round(case.seconds, 3),
    }
    if case.parts:
        plain["results"] = [{"test": _name(part.name), "result": RESULTS[part.outcome]} for part in case.parts]
    return plain


def _name(text: str) -> str:
    """Return the text in nipa's form for names: letters and digits, with hyphens between them."""
    return re.sub(r"[^0-9a-zA-Z]+", "-", text).removesuffix("-") or "no-name"
