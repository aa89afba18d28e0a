"""Show a claim on its page: what was said, how it was tested, what came out, and why."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from lab import metric
from lab.errors import InputError
from lab.metric.naming import looked_through, named
from lab.report import evidence, html, text
from lab.report.diagram import diagram
from lab.report.html import Html
from lab.report.settings import describe, traffic
from lab.report.tested import TestedCase, TestedClaim
from lab.spec.case import Cause
from lab.units import to_plain
from lab.verdict import Kind, Result, Verdict

__all__ = ["Claim", "quantity"]

_CAPITALS = (
    "ACK",
    "ACKs",
    "CPU",
    "Flent",
    "GB",
    "Jain",
    "JSON",
    "MSS",
    "RTT",
)  # words of a metric's name that have some
_MANY = 6  # rows of a table above which it is folded


@dataclass(frozen=True, repr=False)
class Claim(TestedClaim):
    """A judged claim shows itself: as its section of the page in a notebook, as text in a terminal."""

    kernels: Html | None = None  # what became of it on each kernel, where there are records of several

    def plot(self, kind: str = "", *arms: str, **options: Any) -> Html:
        """Draw the figure of `lab.report.figures` called `kind`, of these arms, with its `options`.

        Unless named, it is the figure that suits, of all arms. Raises InputError when no figure has that name,
        or when it does not take these.
        """
        from lab.report import figures  # brings matplotlib, which a verdict has no use for

        name = kind or ("sweep" if any(case.value for case in self.judged.cases) else "bars")
        if name not in figures.__all__:
            raise InputError(f"no figure is called '{name}'; there is {', '.join(figures.__all__)}")
        figure = getattr(figures, name)
        try:
            inspect.signature(figure).bind(self, *arms, **options)
        except TypeError as error:
            raise InputError(f"the figure '{name}' is not drawn like that: {error}") from error
        drawn: Html = figure(self, *arms, **options)
        return drawn

    @property
    def why(self) -> str:
        """Return one sentence, as HTML: what decides the verdict or, where it is no plain yes, explains it.

        The cause has its grade: one that is demonstrated comes first. Where the experiment says that the cause is open,
        nothing that is only consistent takes its place. A witness whose figure does not bear it out explains nothing.
        """
        if self.verdict.kind not in ("partly", "not reproduced"):
            return self.reason
        if self.grade == "open":
            return f"{html.graded('open')} {html.prose(self.judged.declared.experiment.unexplained)}"
        cause = self._cause
        return f"{html.graded(cause.grade, cause.terms)} {html.prose(cause.says)}" if cause else self.reason

    @property
    def grade(self) -> str:
        """Return how far its explanation goes: demonstrated, consistent, open, or "" where there is none."""
        cause = self._cause
        if self.judged.declared.experiment.unexplained and (cause is None or cause.grade != "demonstrated"):
            return "open"
        return cause.grade if cause else ""

    @property
    def _cause(self) -> Cause | None:
        """Return the first cause that its figure bears out: a demonstrated one, else one that is consistent."""
        causes = [each.result.explains for each in self.tested if each.result.explains and each.result.bears_out]
        found = {cause.grade: cause for cause in reversed(causes)}
        return found.get("demonstrated") or found.get("consistent")

    @property
    def short(self) -> str:
        """Return what to call the claim where there is little room."""
        return self.judged.declared.article.story.get(self.name, self.name.replace("-", " "))

    @property
    def reason(self) -> str:
        """Return the figures that decide the verdict, as HTML: of each part of the sentence, where it has several."""
        if self.verdict.kind == "skipped" and "not run" in self.verdict.reason:
            return html.prose(f"{'partly' if self.records else 'not'} run (run `lab run {self.id}`)")
        if self.verdict.kind in ("invalid", "skipped"):
            return html.prose(self.verdict.reason)
        if self.judged.result.parts:
            return "; ".join(self._part(name, verdict) for name, verdict in self.judged.result.parts)
        counted = [each for each in self.tested if each.result.counts]
        of = dict.fromkeys(quantity(each.case.metric) for each in counted if not each.case.relative_to)
        bare = all(each.result.measured and each.result.measured.unit == "1" for each in counted)
        what = f"{next(iter(of))}: " if bare and len(of) == 1 else ""  # no unit says it
        return what + self._figures(counted, self.verdict)

    def _part(self, name: str, verdict: Verdict) -> str:
        """Return what decides the verdict on a part of the sentence."""
        counted = [
            each
            for each in self.tested
            if each.result.counts and each.result.claimed and each.result.claimed.part == name
        ]
        decided = counted and verdict.kind not in ("invalid", "skipped")
        said = self._figures(counted, verdict) if decided else html.prose(verdict.reason)
        return f"{html.prose(name)}: {html.badge(verdict.kind)} {said}"

    def _figures(self, counted: Sequence[TestedCase], verdict: Verdict) -> str:
        """Return the figures of these cases beside what is claimed for them."""
        if len({str(each.case.tolerance) for each in counted}) > 1:
            return "; ".join(_against(each) for each in counted)
        measured = dict.fromkeys(html.figure(each.result.measured) for each in counted)
        claimed = dict.fromkeys(_plainly(each.result) for each in counted)
        words = " or ".join(dict.fromkeys(each.result.claimed.word for each in counted if each.result.claimed))
        if list(measured) == list(claimed):
            if verdict.kind == "reproduced":
                return html.prose(f"{_listed(measured)} measured, as {words}")
            measured = dict.fromkeys(f"{each.result.measured.number:.9g}" for each in counted if each.result.measured)
        said = html.prose(f"{_listed(measured)} measured, {_listed(claimed)} {words}")
        return f"{said}: {_agrees(counted[0].case.tolerance, verdict.kind)}"

    def __repr__(self) -> str:
        return text.plain(text.block(self.judged.result))

    def _repr_html_(self) -> str:
        """Return heading, verdict, results and facts: the head of the claim's section."""
        declared = self.judged.declared
        facts = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in self._facts())
        return "\n".join(
            [
                f'<section class="claim">{html.heading(self.name, html.prose(declared.claim), self.short)}',
                f"<p>{html.badge(self.verdict.kind)} {self.reason}</p>",
                f"<p>{self.why}</p>" if self.why != self.reason else "",
                self.kernels.text if self.kernels else "",
                self._results(),
                html.folded("How it was tested", f"<dl>{facts}</dl>"),
                "</section>",
            ]
        )

    def _facts(self) -> Iterator[tuple[str, str]]:
        declared, case = self.judged.declared, self.judged.cases[0]
        if declared.source:
            yield "Claimed", html.prose(declared.source)
        yield (
            "Tested",
            html.scrolled(diagram(to_plain(case.network), case.path[0]), "Topology")
            + f"<p>{html.typeset(escape(traffic(case.workload)))}</p>"
            + self._changes()
            + self._swept(),
        )
        yield "Measured", _measured(case.metric for case in self.judged.cases)
        if predictions := self.judged.result.predictions:
            bases = dict.fromkeys(html.basis(each) for each in predictions)  # those of arms may differ by a number
            yield "Predicted", "".join(f"<p>{basis}</p>" for basis in bases)
        yield "Claim's figures", "".join(f"<p>{text}</p>" for text in self._sources())
        if any(each.result.counts for each in self.tested):
            yield "Tolerance", "; ".join(self._agreements())
        if declared.history:
            yield "History", "".join(f"<p>{text}</p>" for text in self._history())
        yield "Verify", f"{evidence.again(self.id)} · {evidence.source(self)}{self._provenance()}"

    def _sources(self) -> Iterator[str]:
        """Yield where each of the claim's figures comes from: the article's words, or how it follows from them."""
        arms: dict[tuple[str, str, str], list[str]] = {}
        for each in self.tested:
            if each.result.claimed:
                source = (_plainly(each.result), each.result.claimed.word, each.result.claimed.source)
                arms.setdefault(source, []).append(each.label)
        for (figure, word, said), names in arms.items():
            whose = f" ({', '.join(map(html.prose, names))})" if len(arms) > 1 else ""
            yield f"{html.prose(figure)} is {word}: {html.cited(said)}{whose}"

    def _history(self) -> Iterator[str]:
        """Yield the later changes of what counts, the last one first."""
        for entry in reversed(self.judged.declared.history):
            moves = "".join(
                f"<br>{html.code(move.what)}: {escape(move.was or 'not there')} → {escape(move.now or 'gone')}"
                for move in entry.moves
            )
            yield f"{escape(entry.date)}: {html.prose(entry.change)} {html.prose(entry.why)}{moves}"

    def _agreements(self) -> Iterator[str]:
        """Yield each tolerance with its reason, and with the arms that it is for if there are several."""
        arms: dict[Any, list[str]] = {}
        for each in self.tested:
            if each.result.counts:
                arms.setdefault(each.case.tolerance, []).append(each.case.title)
        for tolerance, names in arms.items():
            whose = ", ".join(map(escape, dict.fromkeys(names))) + ": " if len(arms) > 1 else ""
            yield f"{whose}{html.allowed(tolerance)}: {html.cited(tolerance.because)}"

    def _changes(self) -> str:
        """Return what the experiment sets on top of the topology, for all arms."""
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
        trial = self.judged.records[0].trial
        clocks = {record.trial.clock for record in self.judged.records}
        clock = " and ".join(each for each in ("virtual", "real") if each in clocks)
        return f" (kernel {escape(trial.kernel['version'])}, HZ {trial.kernel['hz']}, seed {trial.seed}, {clock} time)"

    def _results(self) -> str:
        head = ["Arm", "Settings", "Claimed", "Predicted", "Measured", "Model error", "Verdict", "Trial"]
        points = any(each.case.point for each in self.tested)
        if points:
            head[1] = self.judged.declared.experiment.axis.capitalize()
        arms = {arm.name: arm for arm in self.judged.declared.experiment.arms}
        rows = []
        for each in self.tested:
            result = each.result
            setting = escape(each.case.point) if points else describe(arms[each.case.arm]) or "defaults"
            rows.append(
                [
                    f'<span title="{escape(each.case.arm)}">{escape(each.case.title)}</span>',
                    setting,
                    html.claimed(result),
                    html.predicted(result),
                    html.measured(result),
                    html.model_errors(result),
                    _judged(result),
                    "<br>".join([self.trial_link(each.record), *evidence.capture(self, each)])
                    if each.record
                    else html.DASH,
                ]
            )
        shown = html.table(head, rows, "results")
        if len(rows) > _MANY:
            return self._evidence() + html.folded(f"All {len(rows)} results", shown)
        return shown if any(each.capture for each in self.tested) else self._evidence() + shown

    def _evidence(self) -> str:
        """Return the links to captures and trials of what decides the verdict, which a folded table would hide.

        Where none of that has a capture, what explains and has one comes after it. Where nothing has one, it says so.
        """
        cases = ([each for each in self.tested if each.result.counts] or list(self.tested))[:_MANY]
        if not any(each.capture for each in cases):
            cases += [each for each in self.tested if each.result.explains and each.capture][:_MANY]
        said = [f"{html.prose(each.label)}: {' · '.join(evidence.links(self, each))}" for each in cases if each.record]
        if not said:
            return ""
        without = "" if any(each.capture for each in self.tested) else f"{evidence.NO_CAPTURE} "
        return f'<p class="about">{without}{"; ".join(said)}</p>'

    def because(self) -> Html:
        """Explain the verdict: what each explaining arm sets, what came out, what that means, and how far it goes."""
        said: dict[str, str] = {}
        arms = {arm.name: arm for arm in self.judged.declared.experiment.arms}
        for each in self.tested:
            cause, result = each.case.explains, each.result
            if cause is None or each.case.arm in said:
                continue
            figures = ""
            if not each.case.point and result.measured:
                beside = f" for {html.claimed(result)}" if result.claimed else ""
                figures = f", {html.figure(result.measured)} measured{beside}"
            setting = describe(arms[each.case.arm])
            setting = f" ({setting})" if setting else ""
            fails = " Its figure does not bear this out." if result.bears_out is False and not each.case.point else ""
            text = html.prose(cause.says)
            said[each.case.arm] = (
                f"<p>{html.graded(cause.grade, cause.terms)} <strong>{escape(each.case.title)}</strong>{setting}"
                f"{figures}: {text}.{fails}</p>"
            )
        if unexplained := self.judged.declared.experiment.unexplained:
            said[""] = f"<p>{html.graded('open')} {html.prose(unexplained)}</p>"
        return Html(*said.values()) if said else Html(f"<p>{self.reason}.</p>")


def _judged(result: Result) -> str:
    """Show the verdict on an arm that counts, the grade of one that explains."""
    if result.explains:
        return html.witness(result)
    return html.badge(result.verdict.kind) if result.verdict else html.DASH


def _plainly(result: Result) -> str:
    """Return the claim's figure as text, with the sign of a bound."""
    return result.bound + html.quoted(result.claimed.value) if result.claimed else html.DASH


def _listed(texts: Iterable[str]) -> str:
    """Join texts as in 'a, b and c'."""
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last


def quantity(measure: Any) -> str:
    """Return the name of what a metric measures, as HTML, with the first sentence that its function says of itself."""
    inner = looked_through(measure)
    name, given = named(inner)
    called = _keys(inner) or _ratio(given) or name
    written = {word.lower(): word for word in _CAPITALS}
    words = " ".join(written.get(word, word) for word in called.split("_"))
    return f'<span title="{escape(_about(name))}">{escape(words)}</span>'


def _keys(measure: Any) -> str:
    """Return what a program calls its number, if that is measured: "program JSON" says nothing of it."""
    keys = inspect.getclosurevars(measure).nonlocals.get("keys", ())
    return "_".join(str(key) for key in keys)


def _ratio(given: Mapping[str, Any]) -> str:
    """Return which count is divided by which, if that is measured."""
    return f"{given['part']} / {given['whole']}" if {"part", "whole"} <= given.keys() else ""


def _about(metric_name: str) -> str:
    said = inspect.getdoc(getattr(metric, metric_name, None)) or ""
    return " ".join(said.split()).split(". ")[0].rstrip(".")


def _against(tested: TestedCase) -> str:
    """Return one arm's figures and what they had to be."""
    result = tested.result
    word = result.claimed.word if result.claimed else ""
    figures = f"{html.figure(result.measured)} measured, {_plainly(result)} {word}"
    agrees = _agrees(tested.case.tolerance, result.verdict.kind if result.verdict else "skipped")
    return f"{html.prose(f'{tested.label}: {figures}')} ({agrees})"


def _agrees(tolerance: Any, kind: Kind) -> str:
    """Say whether the figures agree, as far as they have to."""
    how = html.allowed(tolerance)
    if kind == "inconclusive":
        return f"the interval straddles the bound ({how})"
    if tolerance.sign:
        return "it holds" if kind == "reproduced" else "it does not hold"
    return how if kind == "reproduced" else f"not {how}"


def _measured(measures: Iterable[Any]) -> str:
    """Return what metrics are called and were given, and once the first sentence that their function says of itself."""
    found: dict[str, list[str]] = {}
    for measure in measures:
        name, given = named(measure)
        values = ", ".join(f"{key}={value!r}" for key, value in given.items() if value is not None)
        found.setdefault(_about(name), []).append(html.code(f"{name}({values})"))
    calls = {said: ", ".join(dict.fromkeys(codes)) for said, codes in found.items()}
    return "; ".join(f"{called} ({html.prose(said)})" if said else called for said, called in calls.items())
