"""In real time a figure holds the emulator's cost: kernels that are emulated in different ways are not compared."""

from __future__ import annotations

from collections.abc import Mapping
from html import unescape
from typing import Any

import pytest
from rich.console import Console

from lab.ext.comparison.compare import ClaimChange, compare
from lab.ext.comparison.display import Answer
from lab.ext.comparison.page import Changes
from lab.guest.outputs import FIDELITY
from lab.machine.kernel.uml.recipe import changes
from tests.ext.comparison.test_compare import netcat
from tests.kinds import Judge
from tests.verdict.evidence import calm

PTRACE = {"processes": "ptrace", "changes": list(changes("6.12"))}
SECCOMP = {"processes": "seccomp", "changes": list(changes("7.2"))}
DECLARATION = """
    topology="symmetric-1g", workload=Netcat(size=Size.of("1 MB")), metric=metric.transfer_time(),
    arms=(Arm("only", Reported("1 s", "it says so")),), tolerance=Within(0.1, because="it is made up"),
"""
SLOW, FAST = [1.00, 1.01, 1.02, 1.03, 1.04], [0.60, 0.61, 0.62, 0.63, 0.64]


def compared(judge: Judge, base: Mapping[str, Any], new: Mapping[str, Any], clock: str = "real") -> ClaimChange:
    """The claim takes 40 % less time on the new side, which is far more than chance."""
    sides = []
    for name, seconds, how in (("6.12", SLOW, base), ("7.2", FAST, new)):
        files = [netcat(each) | ({FIDELITY: calm()} if clock == "real" else {}) for each in seconds]
        sides.append(judge(DECLARATION, {"only": files}, name, clock, **how))
    (found,) = compare([sides[0]], [sides[1]])
    return found


@pytest.mark.parametrize(
    ("base", "new", "reason"),
    [
        ({"emulation": PTRACE}, {"emulation": SECCOMP}, "6.12 runs processes with ptrace, 7.2 with seccomp"),
        ({"emulation": SECCOMP}, {"emulation": SECCOMP, "hz": 250}, "6.12 has 1000 ticks a second, 7.2 250"),
        (
            {"emulation": {"processes": "seccomp", "changes": []}},
            {"emulation": {"processes": "seccomp", "changes": ["0013-um-inline-interrupt-flags"]}},
            "only 7.2 has the lab's 0013-um-inline-interrupt-flags",
        ),
        ({"emulation": None}, {"emulation": SECCOMP}, "a record does not show how its kernel ran processes"),
    ],
)
def test_real_time_on_other_emulators_is_not_compared_and_the_reason_is_shown(
    judge: Judge, base: Mapping[str, Any], new: Mapping[str, Any], reason: str
) -> None:
    found = compared(judge, base, new)
    assert (found.base.kind, found.new.kind) == ("reproduced", "not reproduced")
    assert found.change == "cannot tell"
    assert {(case.change, case.ratio, case.shift) for case in found.cases} == {("cannot tell", None, None)}
    assert all(reason in case.plain()["not_compared"] for case in found.cases)
    answer = Answer((found,))
    assert (answer.exit_code, answer.plain()["tests"]["tested"]) == (0, 0)
    console = Console(width=200, record=True)
    console.print(answer.render())
    assert reason in console.export_text()
    assert reason in unescape(Changes((found,)).section("toy/claim")._repr_html_())


def test_real_time_on_one_emulator_is_compared(judge: Judge) -> None:
    same = {"emulation": SECCOMP}
    assert compared(judge, same, same).change == "verdict changed"


def test_in_virtual_time_an_emulator_costs_nothing_so_figures_are_compared(judge: Judge) -> None:
    assert compared(judge, {"emulation": PTRACE}, {"emulation": SECCOMP}, "virtual").change == "verdict changed"
