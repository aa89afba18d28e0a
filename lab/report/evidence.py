"""Link a figure to what it rests on: the trial's page, its capture, the experiment's file, the command for it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from lab.report.tested import TestedCase, TestedClaim

__all__ = ["NO_CAPTURE", "again", "capture", "copy_of", "links", "source", "source_file"]

# What stands where a link to packets would be, for claims whose figures need none.
NO_CAPTURE = "No packets were captured: the figures are from what programs and the kernel report. Records:"


def copy_of(capture: str) -> str:
    """Return what a report calls its copy of a capture, which Wireshark opens as it is."""
    return f"{capture}.gz"


def source_file(claim: str) -> str:
    """Return where a report has the file of the experiment with that id; every browser shows a text file."""
    return f"experiments/{claim}.py.txt"


def source(claim: TestedClaim) -> str:
    """Return a link to the experiment's file."""
    target = source_file(claim.id) if claim.in_report else claim.judged.declared.path.as_uri()
    return f'<a href="{escape(target)}">experiment</a>'


def again(claim: str) -> str:
    """Return the command that runs the claim with that id anew, whatever a store holds."""
    return f'<code>lab run {escape(claim)} <span class="whole">--results again</span></code>'


def links(claim: TestedClaim, each: TestedCase) -> Iterator[str]:
    """Yield the links to the case's capture and trial."""
    if each.record is not None:
        yield from capture(claim, each)
        yield claim.trial_link(each.record, "trial")


def capture(claim: TestedClaim, each: TestedCase) -> Iterator[str]:
    """Yield the link to the case's capture, where a report has a copy of one."""
    if each.record is not None and each.capture and claim.in_report:
        yield f'<a href="{escape(claim.folder_of(each.record) + copy_of(each.capture))}">capture</a>'
