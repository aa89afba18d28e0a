"""What changed is summed up in the order of its importance, and each thing once."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from rich.console import Console

from lab.ext.comparison.compare import ClaimChange, compare
from lab.ext.comparison.digest import alike, changed, headline, moved, ordered
from lab.ext.comparison.display import Answer
from lab.ext.comparison.page import Changes
from tests.kinds import Judge

Change = Callable[[str, Mapping[str, float]], ClaimChange]
CLAIM = """
    topology="symmetric-1g", workload=Netcat(), metric=metric.transfer_time(),
    arms=(Arm("a", Reported("1 s", "it says so")), Arm("b", Reported("1 s", "it says so")),
          Arm("c", Reported("1 s", "it says so"))),
    tolerance=Within(0.9, because="it is made up"),
"""


@pytest.fixture
def change(judge: Judge) -> Change:
    """A claim of three arms that take 1 s on the base kernel, and so many seconds on a new one; none: not run."""

    def judged(kernel: str, seconds: Mapping[str, float]) -> ClaimChange:
        def run(name: str, times: Mapping[str, float]) -> dict[str, list[dict[str, bytes]]]:
            files = {
                arm: json.dumps({"start_ns": 0, "end_ns": round(took * 1e9), "note": name})
                for arm, took in times.items()
            }
            return {arm: [{"netcat.json": files[arm].encode()}] if arm in files else [] for arm in "abc"}

        sides = [judge(CLAIM, run(*each), each[0]) for each in (("k1", dict.fromkeys("abc", 1.0)), (kernel, seconds))]
        return replace(compare([sides[0]], [sides[1]])[0], claim=f"toy/{kernel}")

    return judged


def test_the_largest_change_comes_first(change: Change) -> None:
    some, most = change("some", {"a": 1.1, "b": 1, "c": 1}), change("most", {"a": 1, "b": 0.5, "c": 1.2})
    same = change("same", dict.fromkeys("abc", 1.0))
    assert ordered([same, some, most]) == [most, some, same]
    assert changed([same, some, most]) == [most, some]
    assert [case.new.arm for case in moved(most)] == ["b", "c"]
    assert headline([same, some, most]) == (
        "Figures changed",
        "no capture shows a different packet; the largest change is in toy/most",
    )
    assert headline([same]) == ("No change", "all claims have the same figures on both kernels")


def test_arms_with_the_same_figures_share_a_row(change: Change) -> None:
    found = change("k2", {"a": 1.5, "b": 1.2, "c": 1.5})
    assert [[case.new.arm for case in each] for each in alike(moved(found))] == [["a", "c"], ["b"]]
    shown = Changes((found,)).sections().text
    assert "<code>a</code>, <code>c</code>" in shown
    assert printed(found).count("1.500 s") == 1
    assert "a and 1 more" in printed(found)


def test_a_reason_is_given_once(change: Change) -> None:
    """Two claims, of each of which two arms did not run on the new kernel."""
    found = [change("k2", {"a": 1}), change("k3", {"a": 1})]
    assert [each.change for each in found] == ["cannot tell"] * 2
    assert headline(found) == ("No change found", "some claims could not be compared")
    said = printed(*found)
    assert said.count("skipped on the new kernel") == 1
    assert "toy/k2 b, c; toy/k3 b, c" in said
    rows = Changes(tuple(found)).not_compared().text
    assert rows.count("skipped on the new kernel") == 1


def test_what_neither_kernel_ran_is_named_once(judge: Judge) -> None:
    """Of claims whose variant is missing for both kernels, say."""
    ran = {"a": [{"netcat.json": b'{"start_ns": 0, "end_ns": 1}'}], "b": [], "c": []}
    base, new = (judge(CLAIM, ran, kernel) for kernel in ("k1", "k2"))
    (found,) = compare([base], [new])
    said = printed(found, replace(found, claim="toy/other"))
    assert said.count("skipped on both kernels") == 1
    assert "toy/claim b, c; toy/other b, c" in said


def printed(*changes: ClaimChange) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(Answer(changes).render())
    return console.export_text()
