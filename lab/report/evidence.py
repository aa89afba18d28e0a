"""Link a figure to its evidence: the trial's page and capture, the experiment file, and the command that runs it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from lab.record.record import TRIAL_FILE
from lab.report.tested import TestedCase, TestedClaim
from lab.spec.case import CaseKey

_DIGITS = 12  # of an address on paper
# Shown instead of a link to packets, for claims whose figures do not need any.
NO_CAPTURE = "No packets were captured: the figures come from what programs and the kernel report. Records:"


def copy_of(capture: str) -> str:
    """Return the file name of a capture's copy in a report. Wireshark can open the copy directly."""
    return f"{capture}.gz"


def source_file(claim: str) -> str:
    """Return the path of the page of an experiment file in a report. The file itself stands beside it, as .py."""
    return f"experiments/{claim}.html"


def source(claim: TestedClaim) -> str:
    """Return a link to the experiment file."""
    target = source_file(claim.id) if claim.in_report else claim.judged.declared.path.as_uri()
    return f'<a href="{escape(target)}">experiment</a>'


def again(claim: str) -> str:
    """Return the command that reruns a claim with a new store."""
    return f'<code>lab run {escape(claim)} <span class="whole">--results again</span></code>'


def links(claim: TestedClaim, each: TestedCase) -> Iterator[str]:
    """Yield the links to the case's capture and trial, and to the other trial of a ratio."""
    if each.record is not None:
        yield from capture(claim, each)
        yield claim.trial_link(each.record, "trial")
    yield from base(claim, each)


def base(claim: TestedClaim, each: TestedCase) -> Iterator[str]:
    """Yield the link to the trial that a ratio's figure is divided by."""
    of = (other for other in claim.tested if other.case.key == CaseKey(each.case.relative_to, each.case.point))
    if each.case.relative_to and (record := next((other.record for other in of if other.record), None)):
        yield claim.trial_link(record, f"÷ {escape(each.case.relative_to)}")


def packets(claim: TestedClaim, decides: TestedCase, name: str) -> str:
    """Return a link to the trial of `decides` with its packets, else to another trial of the claim with packets.

    Without a capture, the link leads to the trial of `decides`, and a remark says why. "" without a record. Screen
    readers announce `name`. Paper shows the start of the trial's address.
    """
    having = [each for each in (decides, *claim.tested) if each.record and each.capture]
    shown = next(iter(having), decides)
    if shown.record is None:
        return ""
    kind = "packets" if having else "trial"
    target = claim.folder_of(shown.record) + ("index.html" if claim.in_report else TRIAL_FILE)
    anchor = f"#{shown.capture}" if having and claim.in_report else ""
    remark = "" if having else ' <small class="about">no capture</small>'
    printed = f'data-trial="{shown.record.address[:_DIGITS]}"'
    return f'<a href="{escape(target + anchor)}" aria-label="{kind} of {escape(name)}" {printed}>{kind}</a>{remark}'


def capture(claim: TestedClaim, each: TestedCase) -> Iterator[str]:
    """Yield the link to the case's capture, if the report has a copy."""
    if each.record is not None and each.capture and claim.in_report:
        yield f'<a href="{escape(claim.folder_of(each.record) + copy_of(each.capture))}">capture</a>'
