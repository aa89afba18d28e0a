"""Join a judged claim with its cases and its records, for figures and pages."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Self

from lab.errors import InputError, LabError
from lab.guest import outputs
from lab.record.record import TRIAL_FILE, Record
from lab.report.wording import typeset
from lab.spec.case import Case, CaseKey
from lab.spec.errors import instead
from lab.units import Value
from lab.verdict import Result, Verdict
from lab.verdict.judged import JudgedClaim, scenario_of

if TYPE_CHECKING:  # a claim in the terminal needs neither the models nor numpy
    from lab.model import Scenario
    from lab.report.traffic import DrawnTraffic


class NotRun(LabError):
    """Raised if there is no record for a figure."""


@dataclass(frozen=True)
class TestedCase:
    """Holds one case, its result, and the record of its first trial (None if it was not run)."""

    case: Case
    result: Result
    record: Record | None

    @property
    def ran(self) -> Record:
        """Return the record. Raises NotRun if there is no record."""
        if self.record is None:
            raise NotRun(f"{self.label} was not run")
        return self.record

    @property
    def label(self) -> str:
        """Return the case's name in a figure."""
        return f"{self.case.title} at {typeset(self.case.point)}" if self.case.point else self.case.title

    @property
    def name(self) -> str:
        """Return the case's name in experiments and notebooks."""
        return f"{self.case.arm} at {self.case.point}" if self.case.point else self.case.arm

    @property
    def claimed(self) -> Value | None:
        """Return the claimed figure, which is reported or implied."""
        return self.result.claimed.value if self.result.claimed else None

    @property
    def whose(self) -> str:
        """Return the source of the claim's figure for a drawing: the article, or implied."""
        return self.result.claimed.whose if self.result.claimed else ""

    @property
    def capture(self) -> str:
        """Return the name of the sender's capture, else the receiver's, else ""."""
        outs = self.record.outputs if self.record else {}
        return next((name for node in self.case.path for name in outputs.captures(outs, node)), "")

    @cached_property
    def traffic(self) -> DrawnTraffic:
        """Return the data of the sender's capture, else of the receiver's.

        Raises NotRun if there is no record, and MetricError if the record has no capture with a connection.
        """
        from lab.report.traffic import traffic_of

        captured = [node for node in self.case.path if outputs.captures(self.ran.outputs, node)]
        return traffic_of(self.ran, captured[0] if captured else self.case.path[0])


@dataclass(frozen=True, repr=False)
class TestedClaim:
    """Holds a judged claim, case by case."""

    judged: JudgedClaim
    in_report: bool  # whether a page of a report shows the claim, so that links stay within the report's folder

    @property
    def id(self) -> str:
        """Return the id: article/claim."""
        return self.judged.declared.id

    @property
    def article(self) -> str:
        """Return the article part of the id."""
        return self.id.split("/")[0]

    @property
    def name(self) -> str:
        """Return the claim part of the id, which is the anchor of the claim's section."""
        return self.id.split("/")[1]

    @property
    def verdict(self) -> Verdict:
        """Return the verdict on the article's claim."""
        return self.judged.result.verdict

    @property
    def passed(self) -> bool:
        """Return whether the verdict is as expected, and every prediction is as accurate as declared."""
        return self.judged.passed

    @property
    def results(self) -> tuple[Result, ...]:
        """Return the claimed, predicted and measured figure of every arm at every point, in the experiment's order."""
        return self.judged.result.results

    @property
    def records(self) -> tuple[Record, ...]:
        """Return the records of the results."""
        return self.judged.records

    def has(self, arm: str | None = None, point: str | None = None) -> bool:
        """Return whether the claim has a case with this arm and this point."""
        return any(arm in (None, case.arm) and point in (None, case.point) for case in self.judged.cases)

    def only(self, arm: str | None = None, point: str | None = None) -> Self:
        """Return this claim with only the results of the given arm, point, or both.

        Raises InputError with the possible names if there is no such arm or point.
        """
        for what, name, known in (
            ("arm", arm, [case.arm for case in self.judged.cases]),
            ("point", point, [case.point for case in self.judged.cases if case.point]),
        ):
            if name is not None and name not in known:
                raise InputError(f"{self.id} has no {what} '{name}'{instead(name, known) or '; it has none'}")
        kept = [
            (case, result)
            for case, result in zip(self.judged.cases, self.results, strict=True)
            if arm in (None, case.arm) and point in (None, case.point)
        ]
        addresses = {address for _, result in kept for address in result.trials}
        judged = replace(
            self.judged,
            cases=tuple(case for case, _ in kept),
            result=replace(self.judged.result, results=tuple(result for _, result in kept)),
            records=tuple(record for record in self.records if record.address in addresses),
        )
        return replace(self, judged=judged)

    @cached_property
    def tested(self) -> tuple[TestedCase, ...]:
        """Return every arm at every point, in the experiment's order."""
        first: dict[tuple[CaseKey, str], Record] = {}
        for record in self.judged.records:
            which = record.trial.key, record.address
            if record.trial.repeat == 0 or which not in first:
                first[which] = record

        def record_of(result: Result) -> Record | None:
            """Return a record of the case itself, because its trials may include trials of its base arm."""
            return next((first[result.key, trial] for trial in result.trials if (result.key, trial) in first), None)

        pairs = zip(self.judged.cases, self.results, strict=True)
        return tuple(TestedCase(case, result, record_of(result)) for case, result in pairs)

    @property
    def run(self) -> tuple[TestedCase, ...]:
        """Return the cases with a record.

        Raises NotRun if no case has a record.
        """
        having = tuple(each for each in self.tested if each.record)
        if not having:
            raise NotRun(f"not run (run `lab run {self.id}`)")
        return having

    def arms(self, *names: str) -> tuple[TestedCase, ...]:
        """Return the cases of the named arms (default: all) that have a record.

        Raises NotRun if no case has a record.
        """
        having = tuple(each for each in self.run if not names or {each.case.arm, each.name} & {*names})
        if not having:
            raise NotRun(f"{' and '.join(names)} not run (run `lab run {self.id}`)")
        return having

    def scenario_of(self, tested: TestedCase) -> Scenario:
        """Return the scenario for the case's prediction."""
        kernel = tested.record.trial.kernel if tested.record else self.judged.kernel
        return scenario_of(tested.case, kernel)

    def predicted_in(self, scenario: Scenario, tested: TestedCase) -> Value:
        """Return the figure of the case's prediction in another scenario. The store keeps the figure.

        Raises LabError if the prediction does not cover the scenario, and the errors of `Predictions.of`.
        """
        found = self.judged.forecast(tested.case, scenario)
        if found.value is None:
            raise LabError(found.why_not)
        return found.value

    def folder_of(self, record: Record) -> str:
        """Return the folder of the trial's page and files in a report, or, outside a report, the record folder."""
        return f"trials/{record.address}/" if self.in_report else f"{os.path.relpath(record.folder.resolve())}/"

    def trial_link(self, record: Record, text: str = "") -> str:
        """Return a link to the trial with the given `text`. Default: the first digits of its address."""
        target = self.folder_of(record) + ("index.html" if self.in_report else TRIAL_FILE)
        kind = "" if text else ' class="trial"'
        return f'<a{kind} href="{escape(target)}" title="{record.address}">{text or record.address[:12]}</a>'
