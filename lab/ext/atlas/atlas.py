"""Generate the pages of an atlas: changes in TCP from one kernel to the next, with the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from itertools import pairwise
from typing import Any

from lab.base import version
from lab.ext.atlas.known import KNOWN, Arms, Known
from lab.ext.comparison.captures import captured
from lab.ext.comparison.compare import ClaimChange, compare
from lab.ext.comparison.page import Changes, parting
from lab.ext.comparison.summary import counts, sentence
from lab.ext.suites.script import JudgedScript, Shift, shifts
from lab.record.record import Record
from lab.report import html, page, wording
from lab.verdict import Result
from lab.verdict.judged import JudgedClaim

STYLE = "page.css"
_COMMITS = "https://git.kernel.org/linus/"


@dataclass(frozen=True)
class AtlasCommit:
    """Describes a commit in a git tree."""

    date: str
    author: str
    subject: str


@dataclass(frozen=True)
class Atlas:
    """Holds claims and scripts, judged on several kernels, the oldest first."""

    kernels: tuple[str, ...]
    claims: Mapping[str, tuple[JudgedClaim, ...]]  # kernel -> claims
    scripts: Mapping[str, tuple[JudgedScript, ...]] = field(default_factory=dict)  # kernel -> scripts
    commits: Mapping[str, AtlasCommit] = field(default_factory=dict)  # known commits, as a git tree has them

    @cached_property
    def steps(self) -> tuple[_Step, ...]:
        """Return the changes from each kernel to the next."""
        return tuple(
            _Step(old, new, compare(self.claims[old], self.claims[new]), tuple(self._shifts(old, new)))
            for old, new in pairwise(self.kernels)
        )

    def pages(self) -> dict[str, str]:
        """Return the HTML of all pages, by file name. Raises Incomparable, RecordError and CaptureError."""
        known = {each.name: self._known(each) for each in KNOWN}
        steps = {step.name: self._step(step) for step in self.steps}
        return {
            "index.html": page.document("An atlas of TCP's changes", "<span>All changes</span>", self._index(), STYLE),
            **{f"{name}.html": text for name, text in (known | steps).items()},
        }

    def plain(self) -> dict[str, Any]:
        """Return the atlas as plain data for JSON."""
        return {
            "kernels": list(self.kernels),
            "changes": [
                {"change": each.name, "title": each.title, "commit": each.commit or None, "shown": self._shown(each)}
                for each in KNOWN
            ],
            "steps": [
                {
                    "base": step.base,
                    "new": step.new,
                    "counts": counts(step.changes),
                    "scripts": sorted({shift.script for shift in step.shifts}),
                }
                for step in self.steps
            ],
        }

    def _shifts(self, old: str, new: str) -> Iterator[Shift]:
        before = {script.name: script for script in self.scripts.get(old, ())}
        for script in self.scripts.get(new, ()):
            if script.name in before:
                yield from shifts(before[script.name], script)

    def _index(self) -> str:
        rows = (
            [f'<a href="{escape(each.name)}.html">{escape(each.title)}</a>', _since(each), self._shown(each)]
            for each in KNOWN
        )
        steps = ([step.link, escape(sentence(step.changes)), step.said] for step in self.steps)
        ids = [claim.declared.id for claim in self.claims[self.kernels[-1]]]
        asked = f"{wording.plural(len(ids), 'claim')} and {wording.plural(self._count(), 'script')}"
        said = f"{asked} of packetdrill, each on {', '.join(self.kernels)}."
        why = "Virtual time gives the same bytes again, so what differs between two kernels is the kernels'."
        return "\n".join(
            [
                f'<p class="answer">{escape(said)} {escape(why)}</p>',
                html.heading("known", "Changes that are known", "Known"),
                html.table(["Change", "Since", "Shown here"], rows),
                html.heading("steps", "From one kernel to the next", "Steps"),
                html.table(["Step", "Claims", "Scripts"], steps),
                html.heading("verdicts", "Every claim on every kernel", "Verdicts"),
                html.scrolled(html.table(["Claim", *self.kernels], map(self._verdicts, ids)), "Verdicts"),
            ]
        )

    def _count(self) -> int:
        return max((len(found) for found in self.scripts.values()), default=0)

    def _verdicts(self, claim: str) -> list[str]:
        found = (self._judged(kernel, claim) for kernel in self.kernels)
        return [escape(claim), *(html.sign(each.result.verdict.kind) if each else wording.DASH for each in found)]

    def _shown(self, known: Known) -> str:
        """Return, in words, whether a known change is visible on these kernels."""
        if known.arms:
            seen = [pair for pair in known.arms if self._pair(pair)]
            return "by arms beside each other" if seen else "not run"
        step = self._across(known)
        if step is None:
            return "no two kernels here lie on both sides of it"
        claims = [each for each in step.changes if each.claim in known.claims and each.was_compared]
        scripts = {shift.script for shift in step.shifts} & {*known.scripts}
        moved = [each for each in claims if each.change not in ("identical", "same packets", "same figures")]
        if moved or scripts:
            return f"from {step.base} to {step.new}"
        return f"nothing changes from {step.base} to {step.new}" if claims else "not run"

    def _across(self, known: Known) -> _Step | None:
        """Return the step in which a change happened."""
        for step in self.steps:
            if known.since and version.order(step.base)[:2] < known.since <= version.order(step.new)[:2]:
                return step
        return None

    def _known(self, known: Known) -> str:
        step = self._across(known)
        parts = [f'<p class="answer">{html.prose(known.says)}</p>', f"<p>{self._origin(known)}</p>"]
        for claim in known.claims:
            parts += self._beside(claim, step)
        for pair in known.arms:
            parts += self._apart(pair)
        if known.scripts:
            parts += [html.heading("scripts", "Scripts of packetdrill", "Scripts"), self._scripted(known.scripts)]
        return page.document(known.title, _ways(known.title), "\n".join(parts), STYLE)

    def _origin(self, known: Known) -> str:
        """Return a change's first kernel and commit, with the commit's subject, author and date from a git tree."""
        if not known.commit:
            return escape(_since(known))
        said = f'{_since(known)}, commit <a href="{_COMMITS}{known.commit}">{known.commit}</a>'
        if found := self.commits.get(known.commit):
            said += f": “{escape(found.subject)}”, {escape(found.author)}, {escape(found.date)}"
        return said

    def _beside(self, claim: str, step: _Step | None) -> Iterator[str]:
        """Yield a claim on every kernel: verdicts, measured and predicted figures, and the first packet that
        differs.
        """
        found = {kernel: judged for kernel in self.kernels if (judged := self._judged(kernel, claim))}
        if not any(judged.records for judged in found.values()):
            yield html.heading(claim, escape(claim), claim)
            yield "<p>It was not run.</p>"
            return
        yield html.heading(claim, escape(claim), claim)
        yield f"<p>{escape(next(iter(found.values())).declared.claim)}</p>"
        badges = (f"{html.badge(judged.result.verdict.kind)} on {escape(kernel)}" for kernel, judged in found.items())
        yield f"<p>{', '.join(badges)}.</p>"
        rows = [row for kernel, judged in found.items() for row in _figures(kernel, judged)]
        yield html.table(["Arm", "Kernel", "Measured", "Predicted"], rows)
        change = next((each for each in step.changes if each.claim == claim), None) if step else None
        if step and change and change.was_compared:
            yield f"<p>From {escape(step.base)} to {escape(step.new)}: {escape(change.change)}.</p>"
            yield from filter(None, map(parting, change.cases))
        yield _evidence([record for judged in found.values() for record in judged.records])

    def _apart(self, pair: Arms) -> Iterator[str]:
        """Yield two arms of a claim side by side, on the newest kernel that ran both."""
        yield html.heading(f"{pair.claim}-{pair.after}", escape(pair.claim), pair.claim)
        found = self._pair(pair)
        if found is None:
            yield f"<p>{html.code(pair.before)} and {html.code(pair.after)} were not run on one kernel.</p>"
            return
        kernel, judged, before, after = found
        yield f"<p>{escape(judged.declared.claim)}</p>"
        rows = [
            [html.code(each.arm), html.measured(each), wording.answer(each, each.predicted), _cause(each)]
            for each in (before, after)
        ]
        yield html.table(["Arm", "Measured", "Predicted", "What it shows"], rows)
        if before.measured and after.measured and before.measured.number:
            ratio = after.measured.number / before.measured.number - 1
            yield f"<p>{html.percent(ratio)} on {escape(kernel)}.</p>"
        records = [[each for each in judged.records if each.trial.key == side.key] for side in (before, after)]
        if where := captured(records[0][0], records[1][0]).divergence:
            yield f"<p>Packet {where.number} is the first that differs, in {where.what}.</p>"
            yield f'<pre tabindex="0">{escape(where.base or "has ended")}\n{escape(where.new or "has ended")}</pre>'
        yield _evidence([record for side in records for record in side])

    def _pair(self, pair: Arms) -> tuple[str, JudgedClaim, Result, Result] | None:
        """Return the newest kernel on which both arms ran, with their results."""
        for kernel in reversed(self.kernels):
            if judged := self._judged(kernel, pair.claim):
                by_arm = {result.arm: result for result in judged.result.results if result.trials}
                if pair.before in by_arm and pair.after in by_arm:
                    return kernel, judged, by_arm[pair.before], by_arm[pair.after]
        return None

    def _judged(self, kernel: str, claim: str) -> JudgedClaim | None:
        return next((each for each in self.claims.get(kernel, ()) if each.declared.id == claim), None)

    def _scripted(self, names: Sequence[str]) -> str:
        found = {(kernel, script.name): script for kernel, scripts in self.scripts.items() for script in scripts}
        rows = ([html.code(name), *(_script(found.get((kernel, name))) for kernel in self.kernels)] for name in names)
        trials = [
            [html.code(script.address[:16]), html.code(name), escape(kernel)]
            for name in names
            for kernel in self.kernels
            if (script := found.get((kernel, name)))
        ]
        return html.table(["Script", *self.kernels], rows) + _trials(["Trial", "Script", "Kernel"], trials)

    def _step(self, step: _Step) -> str:
        changes = Changes(step.changes)
        parts = [
            changes.overview().text,
            html.heading("packets", "What differs in packets", "Packets"),
            changes.packets().text,
            html.heading("claims", "Claim by claim", "Claims"),
            changes.sections().text,
        ]
        if step.shifts:
            rows = (
                [
                    html.code(each.script),
                    escape(each.version),
                    str(each.line or ""),
                    escape(each.base),
                    escape(each.new),
                ]
                for each in step.shifts
            )
            head = ["Script", "IP", "Line", step.base, step.new]
            parts += [html.heading("scripts", "Scripts of packetdrill", "Scripts"), html.table(head, rows)]
        parts += [f"<p>Which commit it was: <code>{escape(step.bisect)}</code></p>"]
        return page.document(step.title, _ways(step.title), "\n".join(parts), STYLE)


@dataclass(frozen=True)
class _Step:
    """Holds the changes from one kernel to the next."""

    base: str
    new: str
    changes: tuple[ClaimChange, ...]
    shifts: tuple[Shift, ...]

    @property
    def name(self) -> str:
        """Return the name of the step's page."""
        return f"from-{self.base}-to-{self.new}"

    @property
    def title(self) -> str:
        """Return the title of the step's page."""
        return f"From {self.base} to {self.new}"

    @property
    def link(self) -> str:
        """Return a link to the step's page."""
        return f'<a href="{escape(self.name)}.html">{escape(self.title)}</a>'

    @property
    def said(self) -> str:
        """Return the number of scripts that differ, in words."""
        differing = len({shift.script for shift in self.shifts})
        return f"{differing} differ{'s' if differing == 1 else ''}" if differing else wording.DASH

    @property
    def bisect(self) -> str:
        """Return the command that finds the commit behind a claim's change."""
        return f"lab bisect --tree ~/linux --good v{self.base} --bad v{self.new} CLAIM"


def _ways(title: str) -> str:
    return f'<a href="index.html">All changes</a><span>{escape(title)}</span>'


def _since(known: Known) -> str:
    return f"Linux {known.since[0]}.{known.since[1]}" if known.since else "a setting of each kernel"


def _figures(kernel: str, judged: JudgedClaim) -> Iterator[list[str]]:
    for result in judged.result.results:
        name = html.code(f"{result.arm} {result.point}".strip())
        yield [name, escape(kernel), html.measured(result), wording.answer(result, result.predicted)]


def _cause(result: Result) -> str:
    return f"{html.witness(result)} {html.prose(result.explains.says)}" if result.explains else wording.DASH


def _script(script: JudgedScript | None) -> str:
    """Return a script's result: that the script holds, or packetdrill's first complaint."""
    if script is None:
        return wording.DASH
    if script.error:
        return escape(str(script.error))
    complaint = next((run.complaint for run in script.runs if run.complaint), None)
    if complaint is None:
        return "holds"
    seen = f" (seen: {escape(complaint.seen)})" if complaint.seen else ""
    return f"fails{f' in line {complaint.line}' if complaint.line else ''}: {escape(complaint.message)}{seen}"


def _evidence(records: Sequence[Record]) -> str:
    """Return a table of the trials that a section is based on."""
    rows = [
        [html.code(record.address[:16]), escape(record.trial.arm), escape(record.trial.point), escape(_ran(record))]
        for record in records
    ]
    return _trials(["Trial", "Arm", "Point", "Kernel"], rows)


def _trials(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return html.folded(f"Evidence: {wording.plural(len(rows), 'trial')}", html.table(head, rows))


def _ran(record: Record) -> str:
    kernel = record.trial.kernel
    return f"{kernel['name']} ({kernel['version']}, id {kernel['id'][:8]})"
