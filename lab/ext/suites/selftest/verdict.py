"""Judge one of the kernel's selftests by its exit status and its parts by their TAP output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lab.errors import LabError
from lab.guest import outputs
from lab.record.record import Record

SelftestOutcome = Literal["passed", "failed", "skipped"]
STATUS = f"{outputs.PROGRAM}/status.json"
SAID = f"{outputs.PROGRAM}.out"
PASS, EXPECTED_FAILURE, SKIP = 0, 2, 4  # KSFT_PASS, KSFT_XFAIL, KSFT_SKIP in tools/testing/selftests/kselftest.h
LAST = 12  # lines of a failed test's output
# Messages of the kernel, the shell or a script about an action that failed, although the script ends successfully.
_REFUSED = re.compile(
    r".*\[FAIL\]|.*: command not found|Error: (?:Unknown device type|.* not enabled in (?:this )?kernel)\b.*"
)
_LINE = re.compile(r"(?P<not>not )?ok\b(?: \d+)?(?: -)? *(?P<name>.*?)(?: # (?P<directive>\w+)\b(?P<why>.*))?")


@dataclass(frozen=True, slots=True)
class Part:
    """Holds one subtest, from a test's TAP output."""

    name: str
    outcome: SelftestOutcome
    reason: str = ""

    def plain(self) -> dict[str, Any]:
        """Return the part as plain data for JSON."""
        return {"name": self.name, "outcome": self.outcome, "reason": self.reason or None}


@dataclass(frozen=True)
class JudgedSelftest:
    """Holds a test with its verdict."""

    name: str
    version: str  # of the kernel source that contains it
    outcome: SelftestOutcome
    reason: str = ""  # why it failed or was skipped; for one that passed, the action that it reports as failed
    address: str = ""  # of its trial; "" if there was none
    parts: tuple[Part, ...] = ()
    said: tuple[str, ...] = ()  # the last lines of a failed test
    seconds: float = 0.0  # the time that its trial took here
    error: LabError | None = None

    def plain(self) -> dict[str, Any]:
        """Return the test as plain data for JSON."""
        return {
            "test": self.name,
            "outcome": self.outcome,
            "reason": self.reason or None,
            "parts": [part.plain() for part in self.parts],
            "trial": self.address or None,
        }


def skipped(name: str, version: str, reason: str) -> JudgedSelftest:
    """Return the result of a test that cannot run here, with the reason."""
    return JudgedSelftest(name, version, "skipped", reason)


def judge(
    name: str, version: str, address: str, outcome: Record | LabError, lacks: Sequence[str] = ()
) -> JudgedSelftest:
    """Judge the outputs of a test's trial. A test that did not pass counts as skipped if the guest lacks one of the
    test's needs.

    Raises RecordError.
    """
    if isinstance(outcome, LabError):
        return JudgedSelftest(name, version, "failed", str(outcome), address, error=outcome)
    status, text = outcome.json(STATUS)["status"], outcome.text(SAID)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    parts = tuple(part for line in lines if (part := _part(line)) is not None)
    found, reason = _verdict(status, lines, parts, lacks)
    seconds = float(outcome.host.get("wall_seconds", 0.0))
    said = tuple(lines[-LAST:]) if found == "failed" else ()
    return JudgedSelftest(name, version, found, reason, address, parts, said, seconds)


def _verdict(
    status: int | None, lines: Sequence[str], parts: Sequence[Part], lacks: Sequence[str]
) -> tuple[SelftestOutcome, str]:
    if status == SKIP:
        return "skipped", f"the test skips itself: {_why_skipped(lines, lacks)}"
    failed = [part.name for part in parts if part.outcome == "failed"]
    if status in (PASS, EXPECTED_FAILURE) and not failed:
        refused = next((line.strip() for line in lines if _REFUSED.fullmatch(line)), "")
        return "passed", f"by its exit status, though it says: {refused}" if refused else ""
    if lacks:
        return "skipped", f"it needs what the guest lacks: {', '.join(lacks)}"
    if status is None:
        return "failed", "it did not end in time"
    ended = f"exit status {status}" if status >= 0 else f"ended by signal {-status}"
    return "failed", f"{ended}; failed: {', '.join(failed)}" if failed else ended


def _why_skipped(lines: Sequence[str], lacks: Sequence[str]) -> str:
    """Return the reason for which a test skipped itself, or else the test's last lines and needs."""
    plain = [line.strip("# ") for line in lines if not re.fullmatch(r"(?:ok .*# SKIP|TAP version .*|1\.\..*)", line)]
    said = next((line for line in reversed(plain) if "skip" in line.lower()), "")
    if said:
        return said
    needs = [f"it mentions what the guest lacks: {', '.join(lacks)}"] if lacks else []
    return "; ".join((*plain[-2:], *needs)) or "it gives no reason"


def _part(line: str) -> Part | None:
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    directive, why = (found["directive"] or "").upper(), (found["why"] or "").strip()
    if directive == "SKIP":
        return Part(found["name"], "skipped", why)
    expected = directive in ("XFAIL", "TODO")
    return Part(found["name"], "failed" if found["not"] and not expected else "passed", why if expected else "")
