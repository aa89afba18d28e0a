"""Write JUnit XML for Jenkins and GitLab."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from lab.report.ci.case import Case
from lab.report.ci.text import printable


def write(cases: Sequence[Case], said: str = "") -> str:
    """Return the report: one suite, with the remarks `said` about all cases. Undecided cases are skipped."""
    failed = sum(case.outcome == "failed" for case in cases)
    skipped = sum(case.outcome in ("skipped", "undecided") for case in cases)
    totals = {"tests": str(len(cases)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
    seconds = sum(case.seconds for case in cases)
    suite = ET.Element("testsuite", {"name": "lab", **totals, "time": f"{seconds:.3f}"})
    for case in cases:
        _add(suite, case)
    if said:
        ET.SubElement(suite, "system-out").text = printable(said)
    ET.indent(suite)
    document: str = ET.tostring(suite, encoding="unicode", xml_declaration=False)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{document}\n"


def _add(suite: ET.Element, case: Case) -> None:
    names = {"classname": printable(case.group), "name": printable(case.name)}
    element = ET.SubElement(suite, "testcase", {**names, "time": f"{case.seconds:.3f}"})
    message, detail = printable(case.message), printable(case.detail)
    if case.outcome == "failed":
        ET.SubElement(element, "failure", message=message).text = detail
    elif case.outcome != "passed":
        ET.SubElement(element, "skipped", message=message).text = detail
    elif detail:
        ET.SubElement(element, "system-out").text = detail
