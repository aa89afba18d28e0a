"""Show a claim on its page: its sentence, the test, the result, and the reason."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from lab.errors import InputError
from lab.report import evidence, html, page, text, wording
from lab.report.colophon import kernels
from lab.report.diagram import diagram
from lab.report.html import Html
from lab.report.quantity import measured, quantity
from lab.report.reason import beside_claimed
from lab.report.settings import describe, traffic
from lab.report.tested import TestedCase, TestedClaim
from lab.report.witnesses import explanations
from lab.spec.case import Cause
from lab.units import to_plain
from lab.verdict import Verdict

__all__ = ["Claim", "quantity"]

_MANY = 6  # the most cases whose packets are linked above the table


@dataclass(frozen=True, repr=False)
class Claim(TestedClaim):
    """Shows a judged claim: as a section of the page in a notebook, or as text in a terminal."""

    kernels: Html | None = None  # its verdict on each kernel, if there are records on several

    def plot(self, kind: str = "", *arms: str, **options: Any) -> Html:
        """Return the figure `kind` of `lab.report.figures` for these arms (default: all), with its `options`.

        Default for `kind`: the figure that suits the claim. Raises InputError for an unknown figure, or for arms or
        options that it does not accept.
        """
        from lab.report import figures  # imports matplotlib, which a verdict does not need

        name = kind or self._usual_figure
        if name not in figures.__all__:
            raise InputError(f"unknown figure '{name}'; use one of {', '.join(figures.__all__)}")
        figure = getattr(figures, name)
        try:
            inspect.signature(figure).bind(self, *arms, **options)
        except TypeError as error:
            raise InputError(f"the figure '{name}' does not accept these arguments: {error}") from error
        drawn: Html = figure(self, *arms, **options)
        return drawn

    @property
    def _usual_figure(self) -> str:
        if self.judged.result.is_study:
            return "spread"
        return "sweep" if any(case.value for case in self.judged.cases) else "bars"

    @property
    def why(self) -> str:
        """Return one sentence, as HTML: the reason for the verdict, or the explanation unless the claim is reproduced.

        The explanation includes its grade, and a demonstrated explanation has priority. If the experiment declares the
        explanation open, a consistent explanation does not replace it. A witness whose figure contradicts its
        explanation is ignored.
        """
        if self.verdict.kind not in ("partly", "not reproduced"):
            return self.reason
        if self.grade == "open":
            return f"{html.graded('open')} {html.prose(self.judged.declared.experiment.unexplained)}"
        cause = self._cause
        return f"{html.graded(cause.grade, cause.terms)} {html.prose(cause.says)}" if cause else self.reason

    @property
    def grade(self) -> str:
        """Return the grade of the explanation: demonstrated, consistent, open, or "" without an explanation."""
        cause = self._cause
        if self.judged.declared.experiment.unexplained and (cause is None or cause.grade != "demonstrated"):
            return "open"
        return cause.grade if cause else ""

    @property
    def _cause(self) -> Cause | None:
        """Return the first explanation that its figure supports: a demonstrated explanation, else a consistent one."""
        causes = [each.result.explains for each in self.tested if each.result.explains and each.result.bears_out]
        found = {cause.grade: cause for cause in reversed(causes)}
        return found.get("demonstrated") or found.get("consistent")

    @property
    def short(self) -> str:
        """Return a short name of the claim."""
        return self.judged.declared.article.story.get(self.name, self.name.replace("-", " "))

    @property
    def reason(self) -> str:
        """Return the figures that decide the verdict, as HTML, for each part of a sentence with several parts."""
        if self.verdict.kind == "skipped" and "not run" in self.verdict.reason:
            return html.prose(f"{'partly' if self.records else 'not'} run (run `lab run {self.id}`)")
        if self.verdict.kind in ("invalid", "skipped"):
            return html.prose(self.verdict.reason)
        if self.verdict.kind == "measured":
            return f"{wording.plural(len(self.judged.cases), 'figure')} of {wording.plural(len(self._arms), 'arm')}"
        if self.judged.result.parts:
            parts = self.judged.result.parts
            return "; ".join(self._part(name, verdict, len(parts) > 1) for name, verdict in parts)
        counted = [each for each in self.tested if each.result.counts]
        what = _what(counted)
        return (f"{what}: " if what else "") + beside_claimed(counted, self.verdict)

    def _part(self, name: str, verdict: Verdict, has_others: bool) -> str:
        """Return the reason for the verdict on a part of the sentence, with the part's own verdict if it `has_others`
        beside it. The claim's verdict stands before all parts, so theirs are signs.
        """
        counted = [
            each
            for each in self.tested
            if each.result.counts and each.result.claimed and each.result.claimed.part == name
        ]
        decided = counted and verdict.kind not in ("invalid", "skipped")
        said = beside_claimed(counted, verdict) if decided else html.prose(verdict.reason)
        sign = f"{html.sign(verdict.kind)} " if has_others else ""
        if decided and len(counted) == 1 and wording.is_yes_or_no(counted[0].result):
            what = _what(counted)
            return f"{sign}{html.prose(name)} ({f'{what}? ' if what else ''}{said})"
        return f"{sign}{html.prose(name)}: {said}"

    def __repr__(self) -> str:
        return text.plain(text.block(self.judged.result))

    def _repr_html_(self) -> str:
        """Return the claim's section: heading, verdict, evidence, and details that are folded.

        In a report, cells of the notebook hold the figures and the explanation. Elsewhere, the section has them, too.
        """
        if self.in_report:
            return html.section(**self._parts())
        said = self.because().text if self.grade else ""
        return page.embedded(html.section(**{**self._parts(), "why": ""}, shown=self.plot().text, more=said))

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
        """Return the section's parts as metadata: a page puts the figures of other cells between them."""
        return {}, {html.SECTION: self._parts()} if self.in_report else {}

    def _parts(self) -> dict[str, str]:
        """Return the parts of the section, by their names in `html.section`."""
        facts = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in self._facts())
        names = f'<span class="names">{escape(self.short)} · <code>{escape(self.id)}</code></span> '
        heading = html.heading(self.name, names + html.prose(self.judged.declared.claim), self.short)
        verdict = f"<p>{html.badge(self.verdict.kind)} {self.reason}</p>"
        why = f"<p>{self.why}</p>" if self.why != self.reason else ""
        packets = "\n".join(filter(None, (self.kernels.text if self.kernels else "", self._evidence())))
        details = [
            html.folded(
                f"Claimed, predicted, measured: {wording.plural(len(self.tested), 'figure')} in a table",
                self.figures_of(self.tested),
            ),
            html.folded("How it was tested", f"<dl>{facts}</dl>"),
            *([html.folded("Cite this claim", cite)] if (cite := evidence.cite(self)) else []),
        ]
        return {
            "heading": heading,
            "verdict": verdict,
            "why": why,
            "evidence": packets,
            "details": "\n".join(details),
        }

    def _facts(self) -> Iterator[tuple[str, str]]:
        declared, case = self.judged.declared, self.judged.cases[0]
        if declared.source:
            yield "Question" if self.judged.result.is_study else "Claimed", html.prose(declared.source)
        yield (
            "Tested",
            html.scrolled(diagram(to_plain(case.network), case.path[0]), "Topology")
            + f"<p>{wording.typeset(escape(traffic(case.workload)))}</p>"
            + self._changes()
            + self._swept(),
        )
        yield "Measured", measured(case.metric for case in self.judged.cases)
        if predictions := self.judged.result.predictions:
            skills = self.judged.result.skills
            # arms' predictions may differ in a number
            bases = dict.fromkeys(html.basis(each, skills.get(each.name)) for each in predictions)
            yield "Predicted", "".join(f"<p>{basis}</p>" for basis in bases)
        if sources := "".join(f"<p>{text}</p>" for text in self._sources()):
            yield "Claim's figures", sources
        if any(each.result.counts for each in self.tested):
            yield "Tolerance", "; ".join(self._agreements())
        if declared.history:
            yield "History", "".join(f"<p>{text}</p>" for text in self._history())
        yield "Verify", f"{evidence.again(self.id)} · {evidence.source(self)}{self._provenance()}"

    def _sources(self) -> Iterator[str]:
        """Yield the source of each claimed figure: the article's words, or the figure's derivation from them."""
        arms: dict[tuple[str, str, str], list[str]] = {}
        for each in self.tested:
            if each.result.claimed:
                source = (wording.claimed_briefly(each.result), each.result.claimed.word, each.result.claimed.source)
                arms.setdefault(source, []).append(each.label)
        for (figure, word, said), names in arms.items():
            whose = f" ({', '.join(map(html.prose, names))})" if len(arms) > 1 else ""
            yield f"{html.prose(figure)} is {word}: {html.cited(said)}{whose}"

    def _history(self) -> Iterator[str]:
        """Yield the later changes to the registered claim, the latest first."""
        for entry in reversed(self.judged.declared.history):
            moves = "".join(
                f"<br>{html.code(move.what)}: {escape(move.was or 'not there')} → {escape(move.now or 'gone')}"
                for move in entry.moves
            )
            yield f"{escape(entry.date)}: {html.prose(entry.change)} {html.prose(entry.why)}{moves}"

    def _agreements(self) -> Iterator[str]:
        """Yield each tolerance with its reason, and with the arms that use it if there are several tolerances."""
        arms: dict[Any, list[str]] = {}
        for each in self.tested:
            if each.result.counts:
                arms.setdefault(each.case.tolerance, []).append(each.case.title)
        for tolerance, names in arms.items():
            whose = ", ".join(map(escape, dict.fromkeys(names))) + ": " if len(arms) > 1 else ""
            yield f"{whose}{html.allowed(tolerance)}: {html.cited(tolerance.because)}"

    def _changes(self) -> str:
        """Return the experiment's changes to the topology that hold for all arms."""
        changed = describe(self.judged.declared.experiment)
        return f"<p>In all arms: {changed}</p>" if changed else ""

    def _swept(self) -> str:
        points = list(dict.fromkeys(case.point for case in self.judged.cases if case.point))
        if not points:
            return ""
        return f"<p>Sweep ({html.prose(self.judged.declared.experiment.axis)}): {escape(', '.join(points))}</p>"

    def _provenance(self) -> str:
        if not self.judged.records:
            return ""
        seeds = sorted({record.trial.seed for record in self.judged.records})
        with_seeds = f"seed{'s' if len(seeds) > 1 else ''} {wording.ranges(seeds)}"
        clocks = {record.trial.clock for record in self.judged.records}
        clock = " and ".join(each for each in ("virtual", "real") if each in clocks)
        trials = wording.plural(len({record.address for record in self.records}), "trial")
        return f" ({trials}, {escape(kernels(self.judged.records))}, {with_seeds}, {clock} time)"

    @property
    def _arms(self) -> list[str]:
        return list(dict.fromkeys(case.arm for case in self.judged.cases))

    def _settings(self, arm: str) -> str:
        """Return how an arm's settings differ from the experiment's, or "" for an arm without settings."""
        return next(describe(each) for each in self.judged.declared.experiment.arms if each.name == arm)

    def _figures_by_arm(self, shown: Iterable[TestedCase]) -> str:
        """Return a study's table: a row for each arm at each point, and a column for each figure."""
        names = list(dict.fromkeys(case.figure for case in self.judged.cases))
        rows = []
        for group in (list(cells) for _, cells in groupby(shown, lambda each: each.case.key)):
            first = group[0]
            trial = self.trial_link(first.record) if first.record else wording.DASH
            rows.append(
                [
                    f'<span title="{escape(first.case.arm)}">{escape(first.label)}</span>',
                    self._settings(first.case.arm) or "defaults",
                    *(html.measured(each.result) + html.beside_prediction(each.result) for each in group),
                    "<br>".join([trial, *evidence.capture(self, first)]),
                ]
            )
        return html.table(["Arm", "Settings", *(name or "Measured" for name in names), "Trial"], rows, "results")

    def figures_of(self, shown: Sequence[TestedCase]) -> str:
        """Return the table of these cases: claimed, predicted and measured figures, verdicts and trials."""
        if self.judged.result.is_study:
            return self._figures_by_arm(shown)
        head = ["Arm", "Settings", "Claimed", "Predicted", "Measured", "Model error", "Verdict", "Trial"]
        points = any(each.case.point for each in self.tested)
        if points:
            head[1] = self.judged.declared.experiment.axis.capitalize()
        rows = []
        for each in shown:
            result = each.result
            setting = escape(each.case.point) if points else self._settings(each.case.arm) or "defaults"
            rows.append(
                [
                    f'<span title="{escape(each.case.arm)}">{escape(each.case.title)}</span>',
                    setting,
                    html.claimed(result),
                    html.predicted(result),
                    html.measured(result),
                    html.model_errors(result),
                    html.verdict(result),
                    self._linked(each) or wording.DASH,
                ]
            )
        return html.table(head, rows, "results") + html.marks(each.result for each in shown)

    def _linked(self, each: TestedCase) -> str:
        """Return the links of a row: its trial, its capture, and the other trial of a ratio."""
        own = [self.trial_link(each.record)] if each.record else []
        return "<br>".join([*own, *evidence.capture(self, each), *evidence.base(self, each)])

    def _evidence(self) -> str:
        """Return links to the captures and trials of the deciding cases, so that no reader has to unfold the table.

        If no deciding case has a capture, links to witnesses with a capture follow. If there is no capture, a remark
        follows.
        """
        cases = ([each for each in self.tested if each.result.counts] or list(self.tested))[:_MANY]
        if not any(each.capture for each in cases):
            cases += [each for each in self.tested if each.result.explains and each.capture][:_MANY]
        said = [f"{html.prose(each.label)}: {' · '.join(evidence.links(self, each))}" for each in cases if each.record]
        if not said:
            return ""
        without = "Packets:" if any(each.capture for each in self.tested) else evidence.NO_CAPTURE
        known = "".join(
            f'<p class="about">The prediction of {html.code(arm)} is known to miss: {html.prose(because)}.</p>'
            for arm, because in self.judged.known_misses.items()
        )
        cite = f' · <a href="#{evidence.cite_anchor(self)}">Cite</a>' if self.in_report else ""
        return f'<p class="about">{without} {"; ".join(said)}{cite}</p>{known}{self._others()}'

    def _others(self) -> str:
        """Return which verdicts the claim may have with other seeds and on other machines, or "" if there are none."""
        declared = self.judged.declared.experiment
        expected = html.badge(declared.expect)
        said = (
            (f"seed: it is {expected} with the first seed, and", declared.other_seeds, " with others"),
            ("machine: it is", declared.other_machines, ""),
        )
        return "".join(
            f'<p class="about">The verdict depends on the {what} '
            f"{' or '.join((expected, *map(html.badge, kinds)))}{which}.</p>"
            for what, kinds, which in said
            if kinds
        )

    def because(self) -> Html:
        """Return the explanations: the grade and the meaning of each, and the settings and the figure of each witness.

        Witnesses of the same explanation share a paragraph.
        """
        told = list(explanations(self, self._settings))
        if unexplained := self.judged.declared.experiment.unexplained:
            told.append(f"<p>{html.graded('open')} {html.prose(unexplained)}</p>")
        if not told and not self.in_report:  # on a page, the reason stands beside the verdict
            told.append(f"<p>{self.reason}.</p>")
        return Html(*told)


def _what(counted: Iterable[TestedCase]) -> str:
    """Return the name of these figures' quantity as HTML, or "" if it is not the same or their unit shows it."""
    shown = list(counted)
    of = dict.fromkeys(quantity(each.case.metric) for each in shown if not each.case.relative_to)
    bare = all(each.result.measured and each.result.measured.unit == "1" for each in shown)
    return next(iter(of)) if bare and len(of) == 1 else ""
