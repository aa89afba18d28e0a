"""Show a claim on its page: what was said, how it was tested, what came out, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from lab.errors import InputError
from lab.report import html, text
from lab.report.diagram import diagram
from lab.report.html import Html
from lab.report.settings import describe, traffic
from lab.report.tested import TestedCase, TestedClaim
from lab.units import to_plain

__all__ = ["Claim"]

_MANY = 6  # rows of a table above which it is folded


@dataclass(frozen=True, repr=False)
class Claim(TestedClaim):
    """A judged claim shows itself: as its section of the page in a notebook, as text in a terminal."""

    def plot(self, kind: str = "", **options: Any) -> Html:
        """Draw the figure of `lab.report.figures` called `kind`, with its `options`; unless named, the one that suits.

        Raises InputError when no figure has that name.
        """
        from lab.report import figures  # brings matplotlib, which a verdict has no use for

        name = kind or ("sweep" if any(case.value for case in self.judged.cases) else "bars")
        if name not in figures.__all__:
            raise InputError(f"no figure is called '{name}'; there is {', '.join(figures.__all__)}")
        drawn: Html = getattr(figures, name)(self, **options)
        return drawn

    @property
    def why(self) -> str:
        """Return one sentence, as HTML: what decides the verdict, or explains it."""
        if self.verdict.kind == "not reproduced":
            for each in self.tested:
                if each.case.explains and each.result.verdict and each.result.verdict.kind == "reproduced":
                    return html.prose(each.case.explains)
        return self.reason

    @property
    def reason(self) -> str:
        """Return the figures that decide the verdict, as HTML."""
        if self.verdict.kind == "skipped" and "not run" in self.verdict.reason:
            return html.prose(f"{'partly' if self.records else 'not'} run (run `lab run {self.id}`)")
        if self.verdict.kind in ("invalid", "skipped"):
            return html.prose(self.verdict.reason)
        counted = [each for each in self.tested if each.result.counts]
        if len({str(each.case.tolerance) for each in counted}) > 1:
            return "; ".join(_against(each) for each in counted)
        measured = dict.fromkeys(html.figure(each.result.measured) for each in counted)
        reported = dict.fromkeys(html.quoted(each.result.reported) for each in counted)
        how = escape(str(counted[0].case.tolerance))
        if list(measured) == list(reported):
            if self.verdict.kind == "reproduced":
                return f"{_listed(measured)} measured, as reported"
            measured = dict.fromkeys(f"{each.result.measured.number:.9g}" for each in counted if each.result.measured)
        said = {"reproduced": how, "inconclusive": f"the interval straddles the bound ({how})"}
        against = said.get(self.verdict.kind, f"not {how}")
        return f"{_listed(measured)} measured, {_listed(reported)} reported: {against}"

    def __repr__(self) -> str:
        return text.plain(text.block(self.judged.result))

    def _repr_html_(self) -> str:
        """Return heading, facts and results: the head of the claim's section."""
        declared = self.judged.declared
        return "\n".join(
            [
                f'<section class="claim"><h2 id="{escape(self.name)}">{html.prose(declared.claim)}</h2>',
                f"<p>{html.badge(self.verdict.kind)} {self.reason}</p>",
                "<dl>",
                *(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in self._facts()),
                "</dl>",
                self._results(),
                "</section>",
            ]
        )

    def _facts(self) -> Iterator[tuple[str, str]]:
        declared, case = self.judged.declared, self.judged.cases[0]
        if declared.source:
            yield "Claimed", html.prose(declared.source)
        yield (
            "Tested",
            diagram(to_plain(case.network), case.path[0])
            + f"<p>{escape(traffic(case.workload))}</p>"
            + self._changes()
            + self._swept(),
        )
        if predictions := self.judged.result.predictions:
            yield "Predicted", "".join(f"<p>{html.basis(each)}</p>" for each in predictions)
        yield "Tolerance", "; ".join(self._agreements())
        yield "Verify", html.code(f"lab run {self.id}") + self._provenance()

    def _agreements(self) -> Iterator[str]:
        """Yield each tolerance with its reason, and with the arms that it is for if there are several."""
        arms: dict[Any, list[str]] = {}
        for each in self.tested:
            if each.result.counts:
                arms.setdefault(each.case.tolerance, []).append(each.case.arm)
        for tolerance, names in arms.items():
            whose = ", ".join(html.code(name) for name in dict.fromkeys(names)) + ": " if len(arms) > 1 else ""
            yield f"{whose}{escape(str(tolerance))}: {html.prose(tolerance.because)}"

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
        head = ["Arm", "Settings", "Reported", "Predicted", "Measured", "Model error", "Verdict", "Trial"]
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
                    html.code(each.case.arm),
                    setting,
                    html.quoted(result.reported),
                    html.predicted(result),
                    html.measured(result),
                    html.model_errors(result),
                    html.badge(result.verdict.kind) if result.verdict else html.DASH,
                    self.trial_link(each.record) if each.record else html.DASH,
                ]
            )
        shown = html.table(head, rows, "results")
        return html.folded(f"All {len(rows)} results", shown) if len(rows) > _MANY else shown

    def because(self) -> Html:
        """Explain the verdict: what each explaining arm sets, what came out, and what that means."""
        said: list[str] = []
        arms = {arm.name: arm for arm in self.judged.declared.experiment.arms}
        for each in self.tested:
            if each.case.explains and not any(each.case.arm in text for text in said):
                result = each.result
                figures = ""
                if not each.case.point and result.measured and result.verdict:
                    figures = f", {html.figure(result.measured)} measured {html.badge(result.verdict.kind)}"
                setting = describe(arms[each.case.arm])
                setting = f" ({setting})" if setting else ""
                text = html.prose(each.case.explains)
                said.append(f"<p>Arm {html.code(each.case.arm)}{setting}{figures}: {text[:1].upper()}{text[1:]}.</p>")
        return Html(*said) if said else Html(f"<p>{self.reason}.</p>")


def _listed(texts: Iterable[str]) -> str:
    """Join texts as in 'a, b and c'."""
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last


def _against(tested: TestedCase) -> str:
    """Return one arm's figures and what they had to be."""
    result, how = tested.result, escape(str(tested.case.tolerance))
    verdict = how if result.verdict and result.verdict.kind == "reproduced" else f"not {how}"
    figures = f"{html.figure(result.measured)} measured, {html.quoted(result.reported)} reported"
    return f"{html.code(tested.label)} {figures} ({verdict})"
