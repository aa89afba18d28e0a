"""Show the changes between two kernels in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import get_args

from lab.errors import InputError
from lab.ext.comparison.compare import CaseChange, Change, ClaimChange
from lab.ext.comparison.summary import causes, sentence
from lab.ext.comparison.words import absent, chance
from lab.report import html, wording
from lab.report.html import Html
from lab.verdict import Result


@dataclass(frozen=True, repr=False)
class Changes:
    """Shows claims on two kernels as one table, the largest changes first."""

    changes: tuple[ClaimChange, ...]

    def __iter__(self) -> Iterator[ClaimChange]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __getitem__(self, claim: str) -> ClaimChange:
        """Return a claim's change by its id. Raises InputError if the claim did not run on both kernels."""
        for each in self:
            if each.claim == claim:
                return each
        raise InputError(f"{claim} did not run on both kernels, or was not requested")

    def section(self, *claims: str) -> Html:
        """Return these claims, case by case, with the first packets that differ, or a remark for a missing claim."""
        known = {each.claim: each for each in self}
        return Html(*(_section(known[claim]) if claim in known else _missing(claim) for claim in claims))

    def sections(self) -> Html:
        """Return all claims that are not identical, the largest changes first."""
        parts = (
            f'<section id="{escape(each.claim)}">{_section(each)}</section>'
            for each in self._ordered()
            if each.change != "identical"
        )
        return Html(*parts)

    def causes(self) -> Html:
        """Return a table of the fields in which first packets differ, each with its claims."""
        found = causes(self.changes)
        if not found:
            return Html("<p>No capture differs in a packet.</p>")
        rows = ([escape(what), str(len(names)), ", ".join(map(_link, names))] for what, names in found.items())
        return Html(html.table(["First packets differ in", "Claims", "Which"], rows, "changes"))

    def _ordered(self) -> list[ClaimChange]:
        return sorted(self, key=lambda each: get_args(Change).index(each.change))

    def __repr__(self) -> str:
        return "\n".join(f"{each.claim}: {each.change}" for each in self)

    def _repr_html_(self) -> str:
        if not self.changes:
            return "<p>No claim was run on both kernels.</p>"
        base, new = next((each for each in self if each.was_compared), self.changes[0]).kernels
        rows = (_row(each) for each in self._ordered())
        return "\n".join(
            [
                f'<p class="sum">{escape(base)} beside {escape(new)}. {sentence(self.changes)}.</p>',
                html.table(["Claim", "Base", "New", "Change", "Largest change of a figure"], rows, "changes"),
            ]
        )


def _row(change: ClaimChange) -> list[str]:
    ratios = [case.ratio - 1 for case in change.cases if case.ratio is not None]
    return [
        escape(change.claim) if change.change == "identical" else _link(change.claim),
        html.badge(change.base.kind),
        html.badge(change.new.kind),
        escape(change.change),
        html.percent(max(ratios, key=abs)) if ratios else wording.DASH,
    ]


def _link(claim: str) -> str:
    """Return a link to the claim's section."""
    return f'<a href="#{escape(claim)}">{escape(claim)}</a>'


def _section(change: ClaimChange) -> str:
    head = f"<h3>{escape(change.claim)}: {escape(change.change)}</h3>"
    verdicts = f"<p>{html.badge(change.base.kind)} on {escape(change.kernels[0])}, "
    verdicts += f"{html.badge(change.new.kind)} on {escape(change.kernels[1])}.</p>"
    if change.lacking:
        return "\n".join([head, verdicts, *(f"<p>{html.prose(said)}.</p>" for said in absent(change))])
    columns = ["Arm", "Base", "New", "Change", "Predicted change", "Outcome"]
    table = html.table(columns, (_case(case) for case in change.cases), "changes")
    tested = (f"<p>{html.prose(said)}.</p>" for case in change.cases for said in chance(case))
    return "\n".join([head, verdicts, table, *tested, *filter(None, map(parting, change.cases))])


def _case(case: CaseChange) -> list[str]:
    return [
        html.code(f"{case.new.arm} {case.new.point}".strip()),
        html.measured(case.base),
        html.measured(case.new),
        html.percent(case.ratio - 1) if case.ratio is not None else wording.DASH,
        _predicted(case.base, case.new),
        case.change,
    ]


def _predicted(base: Result, new: Result) -> str:
    """Return the change that the model predicts from both kernels' rules, or a dash without predictions."""
    if not (base.predicted and new.predicted and base.predicted.number):
        return wording.DASH
    return html.percent(new.predicted.number / base.predicted.number - 1)


def parting(case: CaseChange) -> str:
    """Return the first packet that differs, else the files that differ.

    In real time, all packets differ, so return "".
    """
    arm = html.code(f"{case.new.arm} {case.new.point}".strip())
    if where := case.packets.divergence:
        lines = f"base  {where.base or 'has ended'}\nnew   {where.new or 'has ended'}"
        said = f"packet {where.number} of {html.code(case.packets.capture)} is the first that differs, in {where.what}"
        return f'<p>{arm}: {said}.</p>\n<pre tabindex="0">{escape(lines)}</pre>'
    if case.real_time or not case.files:
        return ""
    same = "the same packets" if case.packets.said else "no packets to compare"
    return f"<p>{arm}: {same}, other bytes in {escape('; '.join(map(str, case.files)))}.</p>"


def _missing(claim: str) -> str:
    return f"<p>{html.code(claim)} did not run on both kernels, or was not requested.</p>"
