"""Link a figure to its evidence: the trial's page and capture, the experiment file, and the command that runs it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from lab.guest import outputs
from lab.record.record import TRIAL_FILE, Record
from lab.report import html
from lab.report.colophon import citation
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


def elsewhere(claim: TestedClaim, record: Record, claims: Iterable[TestedClaim], folder: str) -> str:
    """Return, for a trial without a capture, a paragraph with a link to a trial with packets; "" for other trials.

    The link leads to a trial of the same claim, else to one of `claims` with the same network and kind of traffic.
    `folder` is the folder of the trials' pages, as the page with the link sees it.
    """
    if outputs.captures(record.outputs):
        return ""
    having, said = [each for each in claim.tested if each.capture], "Another trial of this claim has packets"
    if not having:
        said = "No trial of this claim has a capture. A trial of another claim on the same network has packets"
        having = [each for other in claims for each in other.tested if each.capture and _is_alike(each.ran, record)]
    if not having:
        said = "No trial of this claim, or of any with the same network, settings and kind of traffic, has packets."
        return f'<p class="about elsewhere">{said}</p>'
    found = max(having, key=lambda each: _shared(each.ran, record))  # the first of equals
    named = html.prose(found.label if found.case.claim == claim.id else f"{found.case.claim}, {found.label}")
    target = f"{folder}{found.ran.address}/index.html#{escape(found.capture)}"
    return f'<p class="about elsewhere">{said}: <a href="{target}">{named}</a>.</p>'


def _is_alike(other: Record, record: Record) -> bool:
    """Return whether two trials have the same network, and the same kind of traffic."""
    kinds = {each.trial.workload.get("kind") for each in (other, record)}
    return other.network == record.network and len(kinds) == 1


def _shared(other: Record, record: Record) -> int:
    """Return how many settings of the traffic, and how many of arm and point, two trials share."""
    pairs = {(name, str(value)) for name, value in record.trial.workload.items()}
    same = sum((name, str(value)) in pairs for name, value in other.trial.workload.items())
    return same + (other.trial.arm == record.trial.arm) + (other.trial.point == record.trial.point)


def cite(claim: TestedClaim, key: str = "", where: str = "", anchor: str = "") -> str:
    """Return what a reader would cite of a claim, or "" without records or outside a report.

    `where` is the page to cite (default: the claim's section), and `key` names it. Links lead to the `anchor`.
    """
    if not claim.in_report or not claim.records:
        return ""
    sentence = claim.judged.declared.claim.replace("`", "").rstrip(".")
    title = f"Test of the claim: {sentence}. Verdict: {claim.verdict.kind}"
    if claim.verdict.kind == "measured":
        title = f"Study: {sentence}"
    where = where or f"{claim.article}.html#{claim.name}"
    said = citation((key or claim.id).replace("/", "-"), title, claim.records, where)
    return f'<div id="{escape(anchor or cite_anchor(claim))}">{said}</div>'


def cite_anchor(claim: TestedClaim) -> str:
    """Return the anchor of what a reader would cite of a claim, on the article's page."""
    return f"{claim.name}-cite"
