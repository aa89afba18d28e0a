"""Show, for a trial's page, what the trial contributes to its claim: claimed, predicted, measured, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from lab.record.record import Record
from lab.report import html, wording
from lab.report.claim import Claim, quantity
from lab.report.tested import TestedCase
from lab.verdict import measured

ANSWERS = "answers"  # in an output's metadata: address of a trial -> HTML
FIGURES = "figures"  # in an output's metadata: the rows of `lab.verdict.measured` for the claims


def figures(claims: Iterable[Claim]) -> list[list[Any]]:
    """Return the figures of the claims' trials as plain data, for a later notebook that shows the same claims."""
    return [row for claim in claims for row in measured.rows(claim.judged.declared, claim.judged.figures)]


def answers(claims: Iterable[Claim]) -> dict[str, str]:
    """Return the first part of each trial's page as HTML, by the trial's address."""
    return {record.address: _answer(claim, record) for claim in claims for record in claim.records}


def _answer(claim: Claim, record: Record) -> str:
    mine = [each for each in claim.tested if record.address in each.result.trials]
    several = any(len(each.result.sample.figures) > 1 for each in mine)
    head = ["Figure", "Claimed", "Predicted", "Measured here", *(["All trials"] if several else []), "Verdict"]
    rows = [_row(each, record, several) for each in mine]
    target = f"../../{escape(claim.article)}.html#{escape(claim.name)}"
    sentence = f'<a href="{target}">{html.prose(claim.judged.declared.claim)}</a>'
    told = f'<p class="answer">{html.badge(claim.verdict.kind)} {sentence}</p>'
    return told + (html.table(head, rows, "contribution") if rows else "")


def _row(each: TestedCase, record: Record, several: bool) -> list[str]:
    result = each.result
    own = result.sample.figure_of(record) if record.trial.key == result.key else None
    others = f", {html.prose(each.case.title)}" if each.case.relative_to else ""
    name = html.prose(each.case.figure) if each.case.figure else quantity(each.case.metric)
    judged = html.badge(result.verdict.kind) if result.verdict else wording.DASH
    return [
        f"{name}{others}",
        html.claimed(result),
        html.predicted_briefly(result),
        f"<strong>{wording.answer(result, own)}</strong>" if own else wording.DASH,
        *([html.measured(result)] if several else []),
        html.witness(result) if result.explains else judged,
    ]
