"""`lab run --kernel A,B`: a verdict on each kernel, and the worst exit code."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lab.cli import kernels
from lab.errors import InputError
from lab.report import text
from lab.report.claims import Claims
from lab.verdict import ClaimResult, Kind, Verdict


def claims(kernel: str, passed: bool = True, **kinds: Kind) -> Claims:
    def claim(name: str, kind: Kind) -> Any:
        result = ClaimResult(f"a/{name}", Verdict(kind, ""), kernel, "virtual", ())
        judged = SimpleNamespace(
            result=result, known_misses={}, as_expected=kind == "reproduced", expected=("reproduced",)
        )
        return SimpleNamespace(
            id=f"a/{name}", article="a", name=name, verdict=result.verdict, judged=judged, passed=passed, records=()
        )

    return Claims(tuple(claim(name, kind) for name, kind in kinds.items()))


FOUND = {
    "6.1": claims("6.1", passed=False, b="not reproduced", c="reproduced"),
    "7.2": claims("7.2", b="reproduced", c="reproduced"),
}


def test_each_claim_has_a_verdict_on_each_kernel() -> None:
    lines = [line.split("  ") for line in text.plain(kernels.render(FOUND)).splitlines()]
    assert [[part.strip() for part in line if part.strip()] for line in lines] == [
        ["claim", "6.1", "7.2"],
        ["a/b", "not reproduced", "reproduced"],
        ["a/c", "reproduced", "reproduced"],
        ["2 claims on 2 kernels: the kernel decides in a/b"],
    ]
    same = {name: claims(name, c="reproduced") for name in ("6.1", "7.2")}
    assert "1 claim on 2 kernels: no verdict depends on the kernel" in text.plain(kernels.render(same))


LACK = "cannot tell for 1 claim, which lacks a verdict; `lab run CLAIM` shows why"


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ([("invalid", "invalid")], f"1 claim on 2 kernels: {LACK}"),
        ([("invalid", "skipped")], f"1 claim on 2 kernels: {LACK}"),
        ([("reproduced", "skipped")], f"1 claim on 2 kernels: {LACK}"),
        (
            [("reproduced", "reproduced"), ("invalid", "invalid")],
            f"2 claims on 2 kernels: no verdict depends on the kernel; {LACK}",
        ),
        (
            [("reproduced", "partly"), ("partly", "invalid")],
            f"2 claims on 2 kernels: the kernel decides in a/b; {LACK}",
        ),
        (
            [("invalid", "invalid"), ("invalid", "invalid")],
            "2 claims on 2 kernels: " + LACK.replace("1 claim", "2 claims").replace("lacks", "lack"),
        ),
    ],
)
def test_a_claim_without_a_verdict_does_not_tell_whether_the_kernel_decides(
    kinds: list[tuple[Kind, Kind]], said: str
) -> None:
    found = {
        kernel: claims(kernel, True, **{name: row[place] for name, row in zip("bc", kinds, strict=False)})
        for place, kernel in enumerate(FOUND)
    }
    shown = text.plain(kernels.render(found))
    assert said in " ".join(shown.split())


def test_json_has_each_claim_with_its_kernel() -> None:
    plain = kernels.plain(FOUND)["claims"]
    assert [(each["claim"], each["kernel"], each["verdict"]) for each in plain] == [
        ("a/b", "6.1", "not reproduced"),
        ("a/c", "6.1", "reproduced"),
        ("a/b", "7.2", "reproduced"),
        ("a/c", "7.2", "reproduced"),
    ]


@pytest.mark.parametrize(
    ("kind", "passed", "code"), [("reproduced", True, 0), ("partly", False, 1), ("skipped", True, 3)]
)
def test_the_worst_exit_code_counts(kind: Kind, passed: bool, code: int) -> None:
    good, other = claims("7.2", b="reproduced"), claims("6.1", passed, b=kind)
    assert kernels.exit_code({"7.2": good, "6.1": other}) == kernels.exit_code({"6.1": other, "7.2": good}) == code


def test_an_unexpected_verdict_is_told_with_its_kernel() -> None:
    assert list(kernels.remarks(FOUND)) == ["6.1: a/b: the verdict is not reproduced; the claim expects reproduced"]


def test_reports_for_ci_have_a_case_for_each_kernel() -> None:
    found = [(case.group, case.name, case.outcome) for case in kernels.cases(FOUND)]
    assert found == [
        ("a", "b on 6.1", "failed"),
        ("a", "c on 6.1", "failed"),
        ("a", "b on 7.2", "passed"),
        ("a", "c on 7.2", "passed"),
    ]


@pytest.mark.parametrize(("given", "names"), [(None, []), ("7.2", ["7.2"]), ("6.1, 7.2", ["6.1", "7.2"])])
def test_kernels_are_named_with_commas(given: str | None, names: list[str]) -> None:
    assert kernels.named(given) == names


@pytest.mark.parametrize("given", ["", "6.1,", ",7.2"])
def test_a_name_that_is_empty_is_refused(given: str) -> None:
    with pytest.raises(InputError, match="write names with a comma between them"):
        kernels.named(given)
