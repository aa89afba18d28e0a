"""Show what became of selftests: what failed with its last words, what was skipped and why, and the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from lab.usecases.selftests import SelftestRuns
from lab.verdict.selftest import JudgedSelftest

__all__ = ["render"]


def render(found: SelftestRuns) -> RenderableType:
    """Show a line for each test, with the reason where it did not pass, and the counts."""
    return Group(*(block for test in found.tests for block in _lines(test)), Text(sentence(found), "bold"))


def sentence(found: SelftestRuns) -> str:
    """Say how many tests passed, failed and were skipped."""
    counts = Counter(test.outcome for test in found.tests)
    parts = sum(len(test.parts) for test in found.tests)
    said = ", ".join(f"{counts[each]} {each}" for each in ("passed", "failed", "skipped"))
    return f"{len(found.tests)} selftests, with {parts} in their TAP, on {found.kernel}: {said}"


def _lines(test: JudgedSelftest) -> Iterator[RenderableType]:
    style = {"passed": "green", "failed": "red", "skipped": "yellow"}[test.outcome]
    passed = sum(part.outcome == "passed" for part in test.parts)
    tap = f", {passed} of {len(test.parts)} parts" if test.parts else ""
    yield Text.assemble((test.name, "bold"), "  ", (test.outcome, style), tap)
    if test.reason:
        yield Text(f"  {test.reason}")
    yield from (Text(f"  | {line}", "dim") for line in test.said)
