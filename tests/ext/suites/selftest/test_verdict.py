"""A selftest's verdict: its exit status, what its TAP says, and what its guest lacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lab.errors import MachineError
from lab.ext.suites.selftest.verdict import SAID, STATUS, JudgedSelftest, Part, judge
from lab.record.record import Record
from lab.record.store import Store
from tests.trials import trial

TAP = """\
TAP version 13
1..3
# a remark
ok 1 - simult: balanced # time=7400ms
not ok 2 - simult: unbalanced # time=11500ms
ok 3 other # SKIP no such tool
"""
YNL = """\
TAP version 13
1..1
# Failed importing `ynl` library
# No module named 'net'
ok 1 rtnetlink # SKIP
"""
HOLLOW = "Configuring interfaces\nError: Unknown device type.\n"
THOUGH = "by its exit status, though it says:"


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., JudgedSelftest]:
    """Judges a test that ended so."""

    def make(status: int | None, text: str = "", lacks: Sequence[str] = ()) -> JudgedSelftest:
        planned = trial(claim="selftest/x", arm="test")
        with Store(tmp_path).stage(planned) as stage:
            (stage.out / STATUS).parent.mkdir()
            (stage.out / STATUS).write_text(json.dumps({"status": status}))
            (stage.out / SAID).write_text(text)
            record: Record = stage.commit({})
        return judge("x.sh", "7.2.13", planned.address, record, lacks)

    return make


def test_tap_says_what_became_of_the_parts(judged: Callable[..., JudgedSelftest]) -> None:
    found = judged(1, TAP)
    assert found.outcome == "failed"
    assert found.reason == "exit status 1; failed: simult: unbalanced"
    assert found.parts == (
        Part("simult: balanced", "passed"),
        Part("simult: unbalanced", "failed"),
        Part("other", "skipped", "no such tool"),
    )
    assert found.said[-1] == "ok 3 other # SKIP no such tool"


@pytest.mark.parametrize(
    ("status", "text", "lacks", "outcome", "reason"),
    [
        (0, "", (), "passed", ""),
        (2, "", (), "passed", ""),
        (0, "not ok 1 a\n", (), "failed", "exit status 0; failed: a"),
        (0, "not ok 1 a # XFAIL known\n", (), "passed", ""),
        (4, "SKIP: no jq\nbye\n", ("jq",), "skipped", "the test skips itself: SKIP: no jq"),
        (4, "", (), "skipped", "the test skips itself: it gives no reason"),
        (4, "", ("CONFIG_SMP",), "skipped", "the test skips itself: it mentions what the guest lacks: CONFIG_SMP"),
        (4, "1..1\nok 1 a # SKIP no b\n", (), "skipped", "the test skips itself: ok 1 a # SKIP no b"),
        (4, YNL, (), "skipped", "the test skips itself: Failed importing `ynl` library; No module named 'net'"),
        (0, HOLLOW, (), "passed", "by its exit status, though it says: Error: Unknown device type."),
        (0, "a [ OK ]\nb  [FAIL]\n", (), "passed", "by its exit status, though it says: b  [FAIL]"),
        (
            0,
            "a.sh: line 12: pidof: command not found\n",
            (),
            "passed",
            f"{THOUGH} a.sh: line 12: pidof: command not found",
        ),
        (1, "", (), "failed", "exit status 1"),
        (1, "", ("CONFIG_VRF", "socat"), "skipped", "it needs what the guest lacks: CONFIG_VRF, socat"),
        (0, "", ("socat",), "passed", ""),
        (None, "", (), "failed", "it did not end in time"),
        (-11, "", (), "failed", "ended by signal 11"),
    ],
)
def test_verdicts(
    judged: Callable[..., JudgedSelftest],
    status: int | None,
    text: str,
    lacks: Sequence[str],
    outcome: str,
    reason: str,
) -> None:
    found = judged(status, text, lacks)
    assert (found.outcome, found.reason) == (outcome, reason)


def test_a_trial_that_failed_is_a_test_that_failed() -> None:
    error = MachineError("no room")
    found = judge("x.sh", "7.2.13", "abc", error)
    assert (found.outcome, found.reason, found.error) == ("failed", "no room", error)
