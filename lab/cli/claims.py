"""`lab run`: plan, run, judge. The answer as a table, as JSON, and as an exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.cli.style import VERDICTS
from lab.errors import LabError
from lab.kernel import Budget
from lab.record.record import Record
from lab.record.store import Store
from lab.report.html import figure
from lab.report.judged import judge
from lab.run.plan import Planned, Settings, plan
from lab.run.progress import shown
from lab.run.schedule import Runner
from lab.spec.load import Loaded
from lab.verdict import ClaimResult, Result, Verdict


class Interrupted(LabError):
    """Ctrl-C."""

    exit_code = 130  # 128 + SIGINT, as shells say it


@dataclass(frozen=True)
class Answer:
    """The judged claims in order, each with the experiment that declared it, and the errors that trials ended with."""

    claims: tuple[tuple[Loaded, ClaimResult], ...]
    errors: tuple[LabError, ...]

    @property
    def exit_code(self) -> int:
        """3 where the machine could not run a trial, 1 where a verdict is not the expected one, else 0."""
        codes = {error.exit_code for error in self.errors}
        verdicts = {result.verdict.kind for _, result in self.claims}
        if 3 in codes or "skipped" in verdicts:
            return 3
        return int(any(result.verdict.kind != loaded.experiment.expect for loaded, result in self.claims))

    def plain(self) -> dict[str, Any]:
        """As the contract has it."""
        return {"claims": [result.plain() for _, result in self.claims]}

    def render(self) -> RenderableType:
        """A block for each claim: its verdict, why, and a line for each arm and point."""
        return Group(*(_block(result) for _, result in self.claims))


def run(experiments: Sequence[Loaded], settings: Settings, results: Path, jobs: int | None, budget: Budget) -> Answer:
    """Run what the store lacks, and judge all. Raises SpecError, MachineError, Interrupted."""
    planned = plan(experiments, settings)
    trials = [trial for each in planned for trial in each.trials]
    try:
        with shown(len(trials)) as progress:
            kernels = {each.kernel.id: each.kernel for each in planned}
            outcomes = Runner(Store(results), list(kernels.values()), jobs, budget).run(trials, progress)
    except KeyboardInterrupt:
        raise Interrupted("interrupted: finished trials are kept, run again to go on") from None
    errors = tuple(outcome for outcome in outcomes.values() if isinstance(outcome, LabError))
    claims = tuple(
        (loaded, _judge([each for each in planned if each.case.claim == loaded.id], outcomes, settings))
        for loaded in experiments
    )
    return Answer(claims, errors)


def _judge(planned: Sequence[Planned], outcomes: Mapping[str, Record | LabError], settings: Settings) -> ClaimResult:
    without = {}
    records = []
    for each in planned:
        ended = [outcomes[trial.address] for trial in each.trials]
        name = (each.case.arm, each.case.point)
        failed = [outcome for outcome in ended if isinstance(outcome, LabError)]
        good = [outcome for outcome in ended if isinstance(outcome, Record)]
        if each.skipped:
            without[name] = Verdict("skipped", each.skipped)
        elif failed:
            without[name] = Verdict("invalid", str(failed[0]))
        else:
            records += good

    cases = [each.case for each in planned]
    return judge(cases, records, settings.kernel.describe(), settings.clock, without)


def _block(claim: ClaimResult) -> RenderableType:
    title = Text.assemble((claim.claim, "bold"), "  ", (claim.verdict.kind, VERDICTS[claim.verdict.kind]))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for name, justify in (("arm", "left"), ("reported", "right"), ("predicted", "right"), ("measured", "right")):
        table.add_column(name, justify=justify, style="" if name == "measured" else "dim")  # type: ignore[arg-type]
    table.add_column("model error", justify="right", style="dim")
    for result in claim.results:
        table.add_row(*_row(result))
    reason = Text(claim.verdict.reason, style="dim") if claim.verdict.kind in ("invalid", "skipped") else Text("")
    return Group(title, reason, table, Text("")) if reason else Group(title, table, Text(""))


def _row(result: Result) -> tuple[str, str, str, str, str]:
    name = f"{result.arm} {result.point}".strip()
    error = "" if result.model_error is None else f"{100 * result.model_error:+.2f} %"
    return name, figure(result.reported), figure(result.predicted), figure(result.measured), error
