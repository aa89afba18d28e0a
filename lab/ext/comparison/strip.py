"""Show a claim on several kernels as one strip: the verdict on each kernel, the changes between kernels, and the
commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from lab.ext.comparison.lineage import Lineage, LineageStep, follow
from lab.record.store import Store
from lab.report import html
from lab.report.html import Html
from lab.spec.loaded import Commit
from lab.verdict.judged import JudgedClaim


def strips(judged: Iterable[JudgedClaim], store: Store) -> dict[str, Html]:
    """Return the strip of each claim that also has records on other kernels, by claim id."""
    return {name: strip(each) for name, each in follow(judged, store, store.predictions).items()}


def strip(lineage: Lineage) -> Html:
    """Return the strip as a list, with the known commits below."""
    first, *others = lineage.claims
    kernels = [_kernel(first), *map(_next, lineage.steps, others)]
    known = dict.fromkeys(commit for step in lineage.steps for commit in step.commits)
    return Html(
        '<div class="strip"><span class="about">By kernel:</span>'
        f'<ol aria-label="By kernel">{"".join(f"<li>{each}</li>" for each in kernels)}</ol></div>',
        *(f'<p class="about">{commit(each)}</p>' for each in known),
    )


def _next(step: LineageStep, claim: JudgedClaim) -> str:
    """Return the changes since the previous kernel, and the claim's verdict on this kernel."""
    kind = "moved" if step.change and step.change.has_changed else "same"
    return f'<span class="step {kind}">{"; ".join(_changes(step))} →</span> {_kernel(claim)}'


def _kernel(claim: JudgedClaim) -> str:
    assert claim.kernel is not None
    name, version = escape(claim.kernel["name"]), escape(claim.kernel["version"])
    return f'<strong title="Linux {version}">{name}</strong> {html.sign(claim.result.verdict.kind)}'


def _changes(step: LineageStep) -> Iterator[str]:
    if step.change is None:
        yield "cannot be compared"
        return
    ratios = [case.ratio - 1 for case in step.change.cases if case.change == "figure moved" and case.ratio is not None]
    furthest = f", {html.percent(max(ratios, key=abs))}" if ratios else ""
    yield step.change.change + furthest
    yield from (f"since {commit.since}" for commit in step.commits)


def commit(known: Commit) -> str:
    """Return a commit as HTML, with the evidence that it changed the claim."""
    mainline = bool(known.since)  # a commit in a user's own tree has no page
    digits = f"Since {known.since}: {html.commit(known.commit)}" if mainline else f"Commit {html.code(known.commit)}"
    return f"{digits} <q>{escape(known.title)}</q>. {html.prose(known.known)}"
