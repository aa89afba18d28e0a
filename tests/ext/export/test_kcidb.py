"""The report is what KCIDB's own schema allows, and has each claim's verdict on each kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lab
from lab.errors import InputError
from lab.ext.export import api, kcidb
from tests.report.conftest import KERNEL, Keep, here, keep
from tests.report.test_frame import STUDY, kept

__all__ = ["here", "keep"]  # fixtures
OLDER = {**KERNEL, "name": "6.1", "version": "6.1.140-1", "id": "k0", "patches": ["one.patch"]}


def report(*claims: str, **options: Any) -> dict[str, Any]:
    """Return the report on these claims, by default on all: then each of the shipped claims is read, too."""
    from kcidb_io.schema import V5_3

    api.export_kcidb(*claims, out="report.json", results="results", **options)
    plain: dict[str, Any] = json.loads(Path("report.json").read_text())
    V5_3.validate_exactly(plain)
    return plain


def test_each_kernel_is_a_build_with_its_own_tests(keep: Keep) -> None:
    keep("header")
    keep("header", kernel=OLDER)
    keep("sweep")
    plain = report()
    assert [each["id"] for each in plain["builds"]] == ["replab:k0", "replab:k1"]
    assert [each["comment"] for each in plain["checkouts"]] == ["Linux 6.1.140-1 with one.patch", "Linux 7.2.13-1"]
    assert {each["checkout_id"] for each in plain["builds"]} == {each["id"] for each in plain["checkouts"]}
    paths = [(each["build_id"], each["path"]) for each in plain["tests"]]
    assert paths[:3] == [
        ("replab:k0", "replab.toy.header"),
        ("replab:k0", "replab.toy.header.on"),
        ("replab:k0", "replab.toy.header.longer"),
    ]
    assert ("replab:k1", "replab.toy.sweep.only.2") in paths
    assert len({each["id"] for each in plain["tests"]}) == len(plain["tests"])


def test_a_claims_status_is_whether_its_verdict_is_the_expected_one(keep: Keep) -> None:
    keep("header")
    keep("sweep")
    tests = {each["path"]: each for each in report("toy")["tests"]}
    for claim in lab.load("toy", results="results"):
        if claim.records:
            expected = "PASS" if claim.passed else "FAIL"
            assert tests[f"replab.toy.{claim.name}"]["status"] == expected
    assert tests["replab.toy.header.on"]["number"] == {"value": 32.0, "unit": "B", "prefix": "metric"}
    assert tests["replab.toy.header.on"]["status"] == "DONE"
    assert "not reproduced" in tests["replab.toy.header"]["log_excerpt"]


def test_an_invalid_claim_is_an_error(keep: Keep) -> None:
    for record in keep("rate"):
        (record.folder / "out" / "qperf.txt").write_text("nothing")
    (test,) = report("toy")["tests"]
    assert test["status"] == "ERROR"
    assert test["misc"]["verdict"] == "invalid"


def test_a_study_is_done_with_a_number_for_each_figure(here: Path) -> None:
    kept(here, "study", STUDY)
    tests = {each["path"]: each for each in report("toy")["tests"]}
    assert tests["replab.toy.study"]["status"] == "DONE"
    assert tests["replab.toy.study.plain.time"]["number"] == {"value": 1.5, "unit": "s", "prefix": "metric"}
    assert tests["replab.toy.study.plain.time_again"]["misc"]["figure"] == "time again"


def test_the_same_store_gives_the_same_bytes(keep: Keep) -> None:
    keep("header")
    report("toy")
    first = Path("report.json").read_bytes()
    report("toy")
    assert Path("report.json").read_bytes() == first


def test_one_kernel_and_an_origin_can_be_named(keep: Keep) -> None:
    keep("header")
    keep("header", kernel=OLDER)
    plain = report("toy", kernel="6.1", origin="my_ci")
    assert [each["id"] for each in plain["builds"]] == ["my_ci:k0"]
    assert {each["origin"] for each in plain["tests"]} == {"my_ci"}


def test_mistakes_are_refused(keep: Keep, here: Path) -> None:
    from kcidb_io.schema import V5_3

    with pytest.raises(InputError, match="no claim has records"):
        report()
    keep("header")
    with pytest.raises(InputError, match="allows only the characters"):
        report("toy", origin="My CI")
    assert {"major": V5_3.major, "minor": V5_3.minor} == kcidb.VERSION
    assert not list(here.glob("*.json"))
