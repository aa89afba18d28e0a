"""Tell what a claim's witnesses show: the grade and the meaning of each explanation, with settings and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

from lab.report import html, wording
from lab.report.tested import TestedClaim
from lab.verdict import Result

_NOT_SHOWN = "the figure does not support that explanation: "


def explanations(claim: TestedClaim, settings: Callable[[str], str]) -> Iterator[str]:
    """Yield a paragraph for each explanation, as HTML. Witnesses of the same explanation share a paragraph.

    `settings` returns how an arm's settings differ from the experiment's. If no figure of a witness supports its
    explanation, the paragraph has no grade, but states just this.
    """
    seen: set[str] = set()
    said: dict[tuple[str, str, bool], list[str]] = {}
    for each in claim.tested:
        cause, result = each.case.explains, each.result
        if cause is None or each.case.arm in seen:
            continue
        seen.add(each.case.arm)
        figures = ""
        if not each.case.point and result.measured:
            beside = f" for {html.claimed(result)}" if result.claimed else ""
            figures = f", {wording.answer(result, result.measured)} measured{beside}"
        setting = settings(each.case.arm)
        setting = f" ({setting})" if setting else ""
        same = [other.result for other in claim.tested if other.case.arm == each.case.arm]
        fails = all(other.bears_out is False for other in same)
        grade = html.graded(html.NOT_BORNE_OUT if fails else cause.grade, cause.terms)
        grade = grade if claim.records else html.badge("skipped")
        witness = f"<strong>{escape(each.case.title)}</strong>{setting}{figures}{'' if fails else _held(same)}"
        said.setdefault((grade, html.prose(cause.says), fails), []).append(witness)
    for (grade, meaning, fails), names in said.items():
        yield f"<p>{grade} {'; '.join(names)}: {_NOT_SHOWN if fails else ''}{meaning}.</p>"


def _held(results: Sequence[Result]) -> str:
    """Return at how many points the figure supports the explanation, or "" if it does at all of them."""
    held = sum(result.bears_out is not False for result in results)
    return f", borne out at {held} of {wording.plural(len(results), 'point')}" if held < len(results) else ""
