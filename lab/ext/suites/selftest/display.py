"""Show the results of selftests: failed tests with their last lines, skipped tests with reasons, and the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from lab.ext.suites.selftest.running import SelftestRuns
from lab.ext.suites.selftest.verdict import JudgedSelftest


def render(found: SelftestRuns) -> RenderableType:
    """Return a line for each test, with the reason if the test did not pass, and the counts."""
    return Group(*(block for test in found.tests for block in _lines(test)), Text(_sentence(found), "bold"))


def _sentence(found: SelftestRuns) -> str:
    """Return a sentence with the numbers of tests that passed, failed and were skipped."""
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
