"""A judged claim with its cases and its records: what figures and pages are drawn from."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Self

from lab import outputs
from lab.errors import LabError
from lab.record import Record
from lab.report.traffic import Traffic, traffic_of
from lab.spec.case import Case, CaseKey
from lab.verdict import Result, Verdict
from lab.verdict.judged import JudgedClaim, network_path

__all__ = ["NotRun", "TestedCase", "TestedClaim"]


class NotRun(LabError):
    """There is no record of what a figure should show."""


@dataclass(frozen=True)
class TestedCase:
    """One case, its result and the record of its (first) trial; None when it was not run."""

    case: Case
    result: Result
    record: Record | None

    @property
    def label(self) -> str:
        """What to call it in a figure."""
        return f"{self.case.arm} at {self.case.point}" if self.case.point else self.case.arm

    @cached_property
    def traffic(self) -> Traffic:
        """Its capture, the sender's or else the receiver's, read once. Raises NotRun, MetricError."""
        if self.record is None:
            raise NotRun(f"{self.label} was not run")
        captured = [node for node in self.case.path if outputs.captures(self.record.outputs, node)]
        return traffic_of(self.record, captured[0] if captured else self.case.path[0])


@dataclass(frozen=True, repr=False)
class TestedClaim:
    """A judged claim, case by case. `page` is the folder of the page that shows it, so that links can be relative."""

    judged: JudgedClaim
    page: Path

    @property
    def id(self) -> str:
        """article/claim."""
        return self.judged.declared.id

    @property
    def article(self) -> str:
        """The article's part of the id."""
        return self.id.split("/")[0]

    @property
    def name(self) -> str:
        """The claim's part of the id; its section's anchor."""
        return self.id.split("/")[1]

    @property
    def verdict(self) -> Verdict:
        """On the article's claim."""
        return self.judged.result.verdict

    @property
    def passed(self) -> bool:
        """Whether the verdict is the expected one, and every prediction as accurate as declared."""
        return self.judged.passed

    @property
    def results(self) -> tuple[Result, ...]:
        """Reported, predicted and measured: every arm at every point, in the experiment's order."""
        return self.judged.result.results

    @property
    def records(self) -> tuple[Record, ...]:
        """The records that the results rest on."""
        return self.judged.records

    def only(self, arm: str | None = None, point: str | None = None) -> Self:
        """This claim with the results of that arm, of that point, or both."""
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
        """Every arm at every point, in the experiment's order."""
        first: dict[tuple[CaseKey, str], Record] = {}
        for record in self.judged.records:
            which = record.trial.key, record.address
            if record.trial.repeat == 0 or which not in first:
                first[which] = record

        def record_of(result: Result) -> Record | None:
            """One of the case's own: its trials may be of the arm, too, that it is relative to."""
            return next((first[result.key, trial] for trial in result.trials if (result.key, trial) in first), None)

        pairs = zip(self.judged.cases, self.results, strict=True)
        return tuple(TestedCase(case, result, record_of(result)) for case, result in pairs)

    @property
    def run(self) -> tuple[TestedCase, ...]:
        """Those that have a record. Raises NotRun when there is none."""
        having = tuple(each for each in self.tested if each.record)
        if not having:
            raise NotRun(f"not run (run `lab run {self.id}`)")
        return having

    def arms(self, *names: str) -> tuple[TestedCase, ...]:
        """Those of the named arms, of all without a name, that have a record. Raises NotRun."""
        having = tuple(each for each in self.run if not names or {each.case.arm, each.label} & {*names})
        if not having:
            raise NotRun(f"{' and '.join(names)} not run (run `lab run {self.id}`)")
        return having

    def path_of(self, tested: TestedCase) -> Any:
        """The path that a prediction for it is about."""
        kernel = tested.record.trial.kernel if tested.record else self.judged.kernel
        return network_path(tested.case, kernel)

    def trial_link(self, record: Record) -> str:
        """A link to the record's folder, by the first digits of its address."""
        target = os.path.relpath(record.folder.resolve(), self.page.resolve())
        return f'<a class="trial" href="{escape(target)}/" title="{record.address}">{record.address[:12]}</a>'
