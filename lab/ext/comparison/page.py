"""Show the changes between two kernels in a notebook: what changed first, then the packets, then each claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from lab.errors import InputError
from lab.ext.comparison.compare import CaseChange, ClaimChange
from lab.ext.comparison.digest import TopicChange, alike, changed, headline, moved, name, remarks, topics
from lab.ext.comparison.packets import PacketDifference
from lab.ext.comparison.strip import commit
from lab.ext.comparison.summary import sentence
from lab.ext.comparison.words import absent, chance, reasons
from lab.report import html, wording
from lab.report.html import Html
from lab.verdict import Result


@dataclass(frozen=True, repr=False)
class Changes:
    """Shows claims on two kernels, the largest changes first."""

    changes: tuple[ClaimChange, ...]
    history: Mapping[str, Html] = field(default_factory=dict)  # claim -> its strip over more than these two kernels

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
        """Return these claims in full, with what could not be compared, or a remark for a missing claim."""
        known = {each.claim: each for each in self}
        parts = []
        for claim in claims:
            parts.append(self._section(known[claim]) if claim in known else _missing(claim))
            told = reasons([known[claim]]) if claim in known and not known[claim].lacking else {}
            parts += (f"<p>{self._where(arms)}: {html.prose(reason)}.</p>" for reason, arms in told.items())
        return Html(*parts)

    def sections(self) -> Html:
        """Return all claims with a changed verdict, figure or packet, the largest changes first."""
        found = changed(self)
        if not found:
            return Html("<p>No verdict, no figure and no packet changed.</p>")
        return Html(
            *(f'<section id="{escape(each.claim)}" {_marks(each)}>{self._section(each)}</section>' for each in found)
        )

    def packets(self) -> Html:
        """Return each difference of packets once, with the packets around it on both kernels, side by side.

        The overview shows the packets of the first difference, so they are not repeated.
        """
        found = topics(self)
        if not found:
            return Html("<p>No capture differs in a packet.</p>")
        return Html(*(self._topic(each, is_first=each is found[0]) for each in found))

    def not_compared(self) -> Html:
        """Return each reason for which something could not be compared, once, with all cases that it is about."""
        rows = [[html.prose(reason), self._where(claims)] for reason, claims in reasons(self.changes).items()]
        return Html(html.table(["Reason", "Claims"], rows) if rows else "<p>Everything was compared.</p>")

    def overview(self) -> Html:
        """Return the kernels, what changed in a sentence and in counts, the packets that show it, and all claims."""
        if not self.changes:
            return Html("<p>No claim was run on both kernels.</p>")
        _, said = headline(self.changes)
        first = topics(self)[:1]
        known = dict.fromkeys(each for change in self for each in change.commits)
        columns = ["Claim", "What changed", *self._names, "Change", "Packets"]
        found = changed(self)
        rows = (f'<tr role="row" {_marks(each)}>{html.cells(columns, _row(each))}</tr>' for each in found)
        table = html.rowed(columns, rows, "changes sorts") if found else ""
        return Html(
            f'<p class="source">{" → ".join(map(escape, self._kernels))}</p>',
            f'<p class="answer">{html.prose(_sentence(said))}</p>',
            *(f"<p>{commit(each)}</p>" for each in known),
            f'<p class="sum">{sentence(self.changes)}.</p>',
            *(self._side_by_side(each.packets) for each in first),
            '<div class="filter" data-filter="change article topic"></div>' if table else "",
            table,
        )

    @property
    def _kernels(self) -> tuple[str, str]:
        """Return the kernels with versions and ids."""
        return next((each for each in self if each.was_compared), self.changes[0]).kernels

    @property
    def _names(self) -> tuple[str, str]:
        base, new = (each.partition(" (")[0] for each in self._kernels)
        return (base, new) if base != new else ("base", "new")

    def _where(self, claims: Mapping[str, Iterable[str]]) -> str:
        """Return claims with their arms. A claim with a section on the page is a link."""
        shown = {each.claim for each in changed(self)}
        parts = []
        for claim, arms in claims.items():
            link = f'<a href="#{escape(claim)}">{escape(claim)}</a>' if claim in shown else escape(claim)
            parts.append(f"{link} {escape(', '.join(arms))}".strip())
        return "; ".join(parts)

    def _topic(self, each: TopicChange, is_first: bool) -> str:
        change, case = each.cases[0]
        count = wording.plural(len(each.claims), "claim")
        where = f"{html.code(change.claim)} {html.code(name(case))}: packet {each.packets.number}"
        return "\n".join(
            [
                f"<h3>{escape(each.topic)}</h3>",
                f"<p>{html.prose(_sentence(each.says))} In {count}: {self._where(each.claims)}.</p>",
                f"<p>{where} of {html.code(case.packets.capture)} is the first that differs"
                + (
                    ", as shown at the top of this page.</p>"
                    if is_first
                    else f".</p>{self._side_by_side(each.packets)}"
                ),
            ]
        )

    def _side_by_side(self, where: PacketDifference) -> str:
        """Return the packets around the first difference, one column for each kernel."""
        both = [[_line(line)] * 2 for line in where.before]
        first = _apart(where.base, where.new) if where.what != "flow" else [_line(where.base), _line(where.new)]
        after = [
            [_line(base), _line(new)] for base, new in zip(*_padded(where.base_after, where.new_after), strict=True)
        ]
        start = where.number - len(where.before)
        rows = [
            f'<tr{" class=first" if index == len(both) else ""}><th scope="row">{start + index}</th>'
            f"<td>{cells[0]}</td><td>{cells[1]}</td></tr>"
            for index, cells in enumerate([*both, first, *after])
        ]
        head = "".join(f'<th scope="col">{escape(each)}</th>' for each in ("Packet", *self._names))
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        return f'<div class="packets">{table}</div>'

    def _section(self, change: ClaimChange) -> str:
        head = f"<h3>{escape(change.claim)}: {escape(change.change)}</h3>"
        verdicts = f"<p>{html.badge(change.base.kind)} on {escape(self._names[0])}, "
        verdicts += f"{html.badge(change.new.kind)} on {escape(self._names[1])}.</p>"
        if change.lacking:
            return "\n".join([head, verdicts, *(f"<p>{html.prose(said)}.</p>" for said in absent(change))])
        columns = ["Arm", *self._names, "Change", "Predicted change"]
        cases = moved(change)
        table = [html.table(columns, map(_cases, alike(cases)), "changes")] if cases else []
        known = Counter(case.change == "cannot tell" for case in change.cases if case not in cases)
        rest = ((known[False], "no change of the figure"), (known[True], "cannot tell"))
        said = [f"<p>{wording.plural(n, 'further case')}: {what}.</p>" for n, what in rest if cases and n]
        told = remarks([change], lambda case: chance(case) if case in cases else ())
        tested = (f"<p>{self._where(claims)}: {html.prose(remark)}.</p>" for remark, claims in told.items())
        strip = self.history[change.claim].text if change.claim in self.history else ""
        commits = (f'<p class="about">{commit(each)}</p>' for each in change.commits)
        return "\n".join([head, verdicts, strip, *commits, *table, *said, *tested, *self._partings(change)])

    def _partings(self, change: ClaimChange) -> Iterator[str]:
        """Yield each first packet that differs once, with the arms that have it."""
        found: dict[tuple[str, PacketDifference], list[str]] = {}
        for case in change.cases:
            if where := case.packets.divergence:
                found.setdefault((case.packets.capture, where), []).append(name(case))
        for (capture, where), arms in found.items():
            said = f"{where.meaning.topic}: packet {where.number} of {capture}, in {', '.join(arms)}"
            yield html.folded(said, f"<p>{html.prose(_sentence(where.meaning.says))}</p>{self._side_by_side(where)}")

    def __repr__(self) -> str:
        return "\n".join(f"{each.claim}: {each.change}" for each in self)

    def _repr_html_(self) -> str:
        title = headline(self.changes)[0]
        return f"<h1>{escape(title)}</h1>\n{self.overview().text}"


def _row(change: ClaimChange) -> list[str]:
    """Return a claim's row: its largest change of a figure, and its differences of packets."""
    case = next(iter(moved(change)), None)
    verdicts = (
        f"<br>{html.sign(change.base.kind)} → {html.sign(change.new.kind)}"
        if change.base.kind != change.new.kind
        else ""
    )
    figures = [html.measured(case.base), html.measured(case.new), _percent(case)] if case else ["", "", ""]
    about = f'<div class="about">{html.code(name(case))}</div>' if case else ""
    found = topics([change])
    return [
        f'<a href="#{escape(change.claim)}">{escape(change.claim)}</a>{about}',
        escape(change.change) + verdicts,
        *figures,
        "<br>".join(f"{escape(each.topic)}: {html.prose(each.says)}" for each in found),
    ]


def _marks(change: ClaimChange) -> str:
    """Return the attributes by which the page's filter selects a claim."""
    found = [each.topic for each in topics([change])] or ["no packet"]
    article = change.claim.partition("/")[0]
    return (
        f'data-change="{escape(change.change)}" data-article="{escape(article)}" data-topic="{escape("|".join(found))}"'
    )


def _cases(cases: Sequence[CaseChange]) -> list[str]:
    """Return the row of cases with the same figures."""
    case = cases[0]
    return [
        ", ".join(html.code(name(each)) for each in cases),
        html.measured(case.base),
        html.measured(case.new),
        _percent(case),
        _predicted(case.base, case.new),
    ]


def _percent(case: CaseChange) -> str:
    return html.percent(case.ratio - 1) if case.ratio is not None else wording.DASH


def _predicted(base: Result, new: Result) -> str:
    """Return the change that the model predicts from both kernels' rules, or a dash without predictions."""
    if not (base.predicted and new.predicted and base.predicted.number):
        return wording.DASH
    return html.percent(new.predicted.number / base.predicted.number - 1)


def parting(case: CaseChange) -> str:
    """Return the first packet that differs, else the files that differ.

    In real time, all packets differ, so return "".
    """
    arm = html.code(name(case))
    if where := case.packets.divergence:
        lines = f"base  {where.base or 'has ended'}\nnew   {where.new or 'has ended'}"
        said = f"packet {where.number} of {html.code(case.packets.capture)} is the first that differs, in {where.what}"
        return f'<p>{arm}: {said}.</p>\n<pre tabindex="0">{escape(lines)}</pre>'
    if case.real_time or not case.files:
        return ""
    same = "the same packets" if case.packets.said else "no packets to compare"
    return f"<p>{arm}: {same}, other bytes in {escape('; '.join(map(str, case.files)))}.</p>"


def _line(packet: str) -> str:
    """Return a packet's line, or the words for a side that has ended."""
    return escape(packet) or "<em>no more packets</em>"


def _apart(base: str, new: str) -> list[str]:
    """Return the lines of both sides, with their different words marked."""
    if not base or not new:
        return [_line(base), _line(new)]
    words = base.split(), new.split()
    pairs = list(zip(*_padded(*words), strict=True))
    return [
        " ".join(f"<mark>{escape(pair[side])}</mark>" if pair[0] != pair[1] else escape(pair[side]) for pair in pairs)
        for side in (0, 1)
    ]


def _padded(first: Sequence[str], second: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return both sequences with the same length."""
    most = max(len(first), len(second))
    return [*first, *[""] * (most - len(first))], [*second, *[""] * (most - len(second))]


def _sentence(said: str) -> str:
    """Return words as a sentence: with a capital letter and a full stop."""
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _missing(claim: str) -> str:
    return f"<p>{html.code(claim)} did not run on both kernels, or was not requested.</p>"
