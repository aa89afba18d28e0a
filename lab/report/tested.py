"""Join a judged claim with its cases and its records, for figures and pages to draw from."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Self

from lab import outputs
from lab.errors import LabError
from lab.model import Scenario
from lab.record.record import TRIAL_FILE, Record
from lab.report.html import typeset
from lab.report.traffic import Traffic, traffic_of
from lab.spec.case import Case, CaseKey
from lab.units import Value
from lab.verdict import Result, Verdict
from lab.verdict.judged import JudgedClaim, scenario_of

__all__ = ["NotRun", "TestedCase", "TestedClaim"]


class NotRun(LabError):
    """There is no record of what a figure should show."""


@dataclass(frozen=True)
class TestedCase:
    """A tested case is one case, its result and the record of its (first) trial; None when it was not run."""

    case: Case
    result: Result
    record: Record | None

    @property
    def label(self) -> str:
        """Return what to call the case in a figure."""
        return f"{self.case.title} at {typeset(self.case.point)}" if self.case.point else self.case.title

    @property
    def name(self) -> str:
        """Return what an experiment and a notebook call the case."""
        return f"{self.case.arm} at {self.case.point}" if self.case.point else self.case.arm

    @property
    def claimed(self) -> Value | None:
        """Return the claim's figure, reported or implied."""
        return self.result.claimed.value if self.result.claimed else None

    @property
    def whose(self) -> str:
        """Return what to call the claim's figure in a drawing: the article's, say, or implied by what it says."""
        return self.result.claimed.whose if self.result.claimed else ""

    @property
    def capture(self) -> str:
        """Return the name of its capture, the sender's or else the receiver's; "" where it has none."""
        outs = self.record.outputs if self.record else {}
        return next((name for node in self.case.path for name in outputs.captures(outs, node)), "")

    @cached_property
    def traffic(self) -> Traffic:
        """Read the case's capture, the sender's or else the receiver's, once.

        Raises NotRun when there is no record, MetricError when it lacks a capture with a connection.
        """
        if self.record is None:
            raise NotRun(f"{self.label} was not run")
        captured = [node for node in self.case.path if outputs.captures(self.record.outputs, node)]
        return traffic_of(self.record, captured[0] if captured else self.case.path[0])


@dataclass(frozen=True, repr=False)
class TestedClaim:
    """A tested claim is a judged claim, case by case."""

    judged: JudgedClaim
    in_report: bool  # whether a page of a report shows the claim: then links stay in its folder

    @property
    def id(self) -> str:
        """Return the id: article/claim."""
        return self.judged.declared.id

    @property
    def article(self) -> str:
        """Return the article's part of the id."""
        return self.id.split("/")[0]

    @property
    def name(self) -> str:
        """Return the claim's part of the id, which is its section's anchor."""
        return self.id.split("/")[1]

    @property
    def verdict(self) -> Verdict:
        """Return the verdict on the article's claim."""
        return self.judged.result.verdict

    @property
    def passed(self) -> bool:
        """Return whether the verdict is the expected one, and every prediction as accurate as declared."""
        return self.judged.passed

    @property
    def results(self) -> tuple[Result, ...]:
        """Return claimed, predicted and measured for every arm at every point, in the experiment's order."""
        return self.judged.result.results

    @property
    def records(self) -> tuple[Record, ...]:
        """Return the records that the results rest on."""
        return self.judged.records

    def only(self, arm: str | None = None, point: str | None = None) -> Self:
        """Return this claim with the results of that arm, of that point, or both."""
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
            """Return a record of the case's own: its trials may include those of the arm that it is relative to."""
            return next((first[result.key, trial] for trial in result.trials if (result.key, trial) in first), None)

        pairs = zip(self.judged.cases, self.results, strict=True)
        return tuple(TestedCase(case, result, record_of(result)) for case, result in pairs)

    @property
    def run(self) -> tuple[TestedCase, ...]:
        """Return the cases that have a record.

        Raises NotRun when there is none.
        """
        having = tuple(each for each in self.tested if each.record)
        if not having:
            raise NotRun(f"not run (run `lab run {self.id}`)")
        return having

    def arms(self, *names: str) -> tuple[TestedCase, ...]:
        """Return the cases of the named arms, or of all if none is named, that have a record.

        Raises NotRun when there is none.
        """
        having = tuple(each for each in self.run if not names or {each.case.arm, each.name} & {*names})
        if not having:
            raise NotRun(f"{' and '.join(names)} not run (run `lab run {self.id}`)")
        return having

    def scenario_of(self, tested: TestedCase) -> Scenario:
        """Return what the case's prediction is about."""
        kernel = tested.record.trial.kernel if tested.record else self.judged.kernel
        return scenario_of(tested.case, kernel)

    def folder_of(self, record: Record) -> str:
        """Return where the trial's page and files are; where no report is written, the record itself."""
        return f"trials/{record.address}/" if self.in_report else f"{os.path.relpath(record.folder.resolve())}/"

    def trial_link(self, record: Record, text: str = "") -> str:
        """Return a link to the trial, called `text`, or by the first digits of its address."""
        target = self.folder_of(record) + ("index.html" if self.in_report else TRIAL_FILE)
        kind = "" if text else ' class="trial"'
        return f'<a{kind} href="{escape(target)}" title="{record.address}">{text or record.address[:12]}</a>'
