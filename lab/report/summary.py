"""Sum up claims in one self-contained table: quantity, tolerance, figures, verdict, reason and evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from lab.report import evidence, html, wording
from lab.report.claim import Claim, quantity
from lab.report.html import Html
from lab.report.tested import TestedCase

_HEAD = ("Claim", "Claimed", "Predicted", "Measured", "Model error", "Verdict", "Why")
_MANY = 6  # the most rows of a claim; the others are in its section


def summary(claims: Iterable[Claim]) -> Html:
    """Return the table, with a row for each case with a verdict, and an indented row for each witness."""
    return Html(html.rowed(_HEAD, (row for claim in claims for row in _rows(claim)), "verdicts"))


def _rows(claim: Claim) -> Iterator[str]:
    counted = [each for each in claim.tested if each.result.counts]
    witnesses = [each for each in claim.tested if each.result.explains and not each.case.point]
    shown = [*counted, *witnesses] if len(counted) + len(witnesses) <= _MANY else counted[:_MANY]
    left_out = len(claim.tested) - len(shown)
    if not shown:
        row = _cells([_title(claim), *[wording.DASH] * 4, html.badge(claim.verdict.kind)])
        yield f'<tr role="row" class="first">{row}{_why(claim, 1)}</tr>'
    for index, each in enumerate(shown):
        first = index == 0
        left = _title(claim) if first else ""
        several = len(shown) > 1
        name = f'<div class="arm">{html.prose(each.label)}</div>' if several else ""
        if each.result.explains:
            name = f'<div class="arm">↳ {html.prose(each.label)}</div>'
        more = (
            f'<div class="about">{left_out} more in its section</div>' if index == len(shown) - 1 and left_out else ""
        )
        cells = _cells([left + name + _about(claim, each) + more, *_figures(each)])
        kind = "first" if first else "witness" if each.result.explains else "more"
        yield f'<tr role="row" class="{kind}">{cells}{_why(claim, len(shown)) if first else ""}</tr>'


def _title(claim: Claim) -> str:
    """Return the claim's sentence, and the command that reruns the claim."""
    link = f'<a href="#{escape(claim.name)}">{html.prose(claim.judged.declared.claim)}</a>'
    return f'{link}<div class="about">{evidence.again(claim.id)} · {evidence.source(claim)}</div>'


def _about(claim: Claim, each: TestedCase) -> str:
    """Return the measured quantity, the tolerance, and the links to the packets."""
    said = [quantity(each.case.metric)]
    if each.result.counts:
        said.append(html.allowed(each.case.tolerance))
    if each.result.explains:
        said.append(each.result.explains.terms.partition(":")[0] or "nothing fitted")
    return f'<div class="about">{" · ".join([*said, *evidence.links(claim, each)])}</div>'


def _figures(each: TestedCase) -> list[str]:
    result = each.result
    verdict = (
        html.witness(result) if result.explains else html.badge(result.verdict.kind if result.verdict else "skipped")
    )
    return [
        html.claimed(result),
        html.predicted_briefly(result),
        html.measured(result),
        html.model_errors(result),
        verdict,
    ]


def _cells(row: list[str]) -> str:
    return html.cells(_HEAD[: len(row)], row)


def _why(claim: Claim, rows: int) -> str:
    return f'<td role="cell" class="why" data-label="Why" rowspan="{rows}">{claim.why}</td>'
