"""Reports are what their readers expect, whatever names and messages say."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError, MachineError
from lab.report.ci import junit, ktap, nipa, report, tap
from lab.report.ci.case import Case, Outcome

OUTCOMES = get_args(Outcome)
PARTS = st.builds(Case, st.just(""), st.text(), st.sampled_from(OUTCOMES), st.text(), st.text())
CASES = st.lists(
    st.builds(
        Case,
        st.text(),
        st.text(),
        st.sampled_from(OUTCOMES),
        st.text(),
        st.text(),
        st.floats(0, 1e6),
        st.lists(PARTS, max_size=3).map(tuple),
    )
)
RESULT = re.compile(
    r"(?P<indent> *)(?P<ok>ok|not ok) (?P<number>\d+)(?P<name>[^#]*)(?:# (?P<directive>SKIP|TODO)\b.*)?"
)


def results(text: str, indent: str = "") -> list[tuple[str, str | None]]:
    """(ok or not ok, directive) of each test of a level, as a parser of TAP finds them; comments count for nothing."""
    found = []
    for line in text.split("\n"):
        match = RESULT.fullmatch(line)
        if match and match["indent"] == indent:
            found.append((match["ok"], match["directive"]))
            assert int(match["number"]) == len(found)
    return found


def plan(text: str) -> int:
    return int(re.findall(r"^1\.\.(\d+)$", text, re.MULTILINE)[-1])


@given(CASES)
def test_tap_has_a_line_for_each_case_and_comments_for_the_rest(cases: Sequence[Case]) -> None:
    text = tap.write(cases)
    meant = {
        "passed": ("ok", None),
        "failed": ("not ok", None),
        "skipped": ("ok", "SKIP"),
        "undecided": ("not ok", "TODO"),
    }
    assert results(text) == [meant[case.outcome] for case in cases]
    assert text.startswith("TAP version 13\n")
    assert plan(text) == len(cases)
    assert all(re.match(r"TAP |1\.\.|ok |not ok |# ", line) for line in text.removesuffix("\n").split("\n"))


@given(CASES)
def test_ktap_nests_the_parts_before_their_case(cases: Sequence[Case]) -> None:
    text = ktap.write(cases)
    meant = {"passed": ("ok", None), "failed": ("not ok", None), "skipped": ("ok", "SKIP"), "undecided": ("ok", "SKIP")}
    assert results(text) == [meant[case.outcome] for case in cases]
    assert plan(text) == len(cases)
    inner: list[str] = []
    levels = []
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("  "):
            inner.append(line)
        elif RESULT.fullmatch(line):
            levels.append(results("\n".join(inner), "  "))
            inner = []
    assert levels == [[meant[part.outcome] for part in case.parts] for case in cases]


@given(CASES)
def test_junit_is_xml_that_counts(cases: Sequence[Case]) -> None:
    suite = ET.fromstring(junit.write(cases, "said \x00"))
    found = suite.findall("testcase")
    assert len(found) == len(cases)
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
    assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))
    kinds = {"passed": None, "failed": "failure", "skipped": "skipped", "undecided": "skipped"}
    for element, case in zip(found, cases, strict=True):
        marks = [child.tag for child in element if child.tag != "system-out"]
        assert marks == ([kinds[case.outcome]] if kinds[case.outcome] else [])


@given(CASES)
def test_nipa_gets_what_its_collector_reads(cases: Sequence[Case]) -> None:
    plain = json.loads(nipa.write(cases))
    assert [each["result"] for each in plain] == [nipa.RESULTS[case.outcome] for case in cases]
    for each in plain:
        assert {"test", "group", "result", "link"} <= each.keys()
        assert re.fullmatch(r"[0-9a-zA-Z-]+", each["test"])


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        (["passed"], 0),
        (["passed", "failed", "skipped"], 1),
        (["skipped", "skipped"], 4),
        ([], 4),
        (["passed", "skipped"], 5),
        (["undecided"], 5),
    ],
)
def test_nipas_exit_codes(outcomes: list[Outcome], code: int) -> None:
    cases = [Case("group", "test", outcome) for outcome in outcomes]
    assert nipa.exit_code(cases) == code
    mine = report.asked(["nipa=out.json"])
    assert report.exit_code(mine, cases, 1) == code
    assert report.exit_code(mine, cases, 3) == 3  # the machine could not do it: that is for a person
    assert report.exit_code(report.asked(["tap=out.tap"]), cases, 1) == 1


def test_a_message_of_several_lines_cannot_end_a_test() -> None:
    case = Case("g", "one\nnot ok 7 # TODO", "failed", "broken\nok 2 - fooled", "1..9\nBail out!")
    lines = tap.write([case]).splitlines()
    assert lines[2] == "not ok 1 - g/one not ok 7 TODO"
    assert lines[3:] == ["# broken", "# ok 2 - fooled", "# 1..9", "# Bail out!"]


def test_reports_are_written_where_they_were_asked_for(tmp_path: Path) -> None:
    wanted = report.asked([f"tap={tmp_path}/new/a=b.tap", f"junit={tmp_path}/c.xml"])
    report.write(wanted, [Case("group", "test", "passed")])
    assert (tmp_path / "new" / "a=b.tap").read_text() == "TAP version 13\n1..1\nok 1 - group/test\n"
    assert ET.parse(tmp_path / "c.xml").getroot().get("tests") == "1"
    with pytest.raises(MachineError, match="cannot write"):
        report.write(report.asked([f"tap={tmp_path}"]), [])


@pytest.mark.parametrize("text", ["tap", "tap=", "=file", "xunit="])
def test_a_report_of_no_format_is_a_mistake(text: str) -> None:
    with pytest.raises(InputError, match="FORMAT=FILE"):
        report.asked([text])


@pytest.mark.parametrize(
    ("text", "advice"), [("junt=r.xml", "did you mean 'junit'?"), ("pdf=r.pdf", "use tap, ktap, junit, nipa")]
)
def test_a_report_of_an_unknown_format_is_told_the_known_ones(text: str, advice: str) -> None:
    with pytest.raises(InputError) as wrong:
        report.asked([text])
    assert str(wrong.value) == f"--report {text}: unknown format '{text.partition('=')[0]}'; {advice}"
