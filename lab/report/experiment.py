"""Show, on an experiment file's page, the answer before the code: verdict, figures, packets, and how to cite them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from lab.report import evidence, html, page
from lab.report.claim import Claim
from lab.report.colophon import imprint
from lab.report.tested import TestedCase

EXPERIMENTS = "experiments"  # in an output's metadata: id of a claim -> HTML

_MANY = 6  # the most figures that stand above the code
_LINK = re.compile(r'(?<= href=")(?=[\w.-]+(?:/|\.html))')  # to a file of the report
_TARGET = re.compile(r'href="([^"]+)"')


def experiments(claims: Iterable[Claim]) -> dict[str, str]:
    """Return what stands above the code on the page of each claim's experiment as HTML, by the claim's id."""
    shown = list(claims)
    return {claim.id: _LINK.sub("../../", "\n".join(_answer(claim, shown))) + _cite(claim) for claim in shown}


def listing(claim: str, text: str, told: str) -> str:
    """Return the page of an experiment file with this `text`. `told` is its part from `experiments`, or ""."""
    article, _, name = (escape(part) for part in claim.partition("/"))
    ways = (
        f'<a href="../../index.html">All articles</a><a href="../../{article}.html">{article}</a>'
        f'<a href="../../{article}.html#{name}">{name}</a><span>experiment</span>'
    )
    code = (
        html.heading("source", "The experiment file", "Source")
        + f'<p class="source"><a href="{name}.py" download>Download {name}.py</a></p>'
        + f'<pre class="listing" tabindex="0" role="region" aria-label="Source">{escape(text)}</pre>'
    )
    return page.document(claim, ways, told + code, "../../page.css", "../../page.js")


def _answer(claim: Claim, claims: Sequence[Claim]) -> Iterator[str]:
    counted = [each for each in claim.tested if each.result.counts] or list(claim.tested)
    yield imprint(claim.records, "#cite", _packets(claim, counted))
    target = f"{escape(claim.article)}.html#{escape(claim.name)}"
    sentence = f'<a href="{target}">{html.prose(claim.judged.declared.claim)}</a>'
    yield f'<p class="answer">{html.badge(claim.verdict.kind)} {sentence}</p>'
    yield from (evidence.elsewhere(claim, each.record, claims, "trials/") for each in counted[:1] if each.record)
    yield f"<p>{claim.reason}.</p>"
    yield claim.figures_of(counted[:_MANY])
    if len(claim.tested) > len(counted[:_MANY]):
        yield html.folded(f"All {len(claim.tested)} figures", claim.figures_of(claim.tested))


def _cite(claim: Claim) -> str:
    said = evidence.cite(claim, f"{claim.id}-experiment", evidence.source_file(claim.id), "cite")
    return html.folded("How to cite this experiment", said) if said else ""


def _packets(claim: Claim, counted: Iterable[TestedCase]) -> str:
    """Return the address of the packets that decide the verdict, else of other packets of the claim, or ""."""
    if not any(each.capture for each in claim.tested):
        return ""
    links = (_TARGET.search(evidence.packets(claim, each, claim.short)) for each in counted)
    return next((found[1] for found in links if found), "")
