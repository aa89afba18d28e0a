"""Judge claims from the outcomes of their trials: each claim once, as soon as its last trial has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from lab.errors import LabError
from lab.guest.trial import Trial
from lab.record.record import Record, RecordError
from lab.runner.plan import PlannedCase, Settings, trials_of
from lab.spec.loaded import LoadedExperiment
from lab.verdict import Verdict
from lab.verdict.judged import JudgedClaim, judge_records
from lab.verdict.predictions import Predictions

_Outcome = Record | LabError


class Judging:
    """Holds the outcomes of claims' trials, and judges the claims."""

    def __init__(
        self,
        experiments: Sequence[LoadedExperiment],
        planned: Sequence[PlannedCase],
        settings: Settings,
        predictions: Path,
    ) -> None:
        self._experiments = {loaded.id: loaded for loaded in experiments}
        self._planned: dict[str, list[PlannedCase]] = {claim: [] for claim in self._experiments}
        self._settings, self._predictions = settings, predictions
        self._missing: dict[str, set[str]] = {claim: set() for claim in self._experiments}
        self._outcomes: dict[str, _Outcome] = {}
        self._judged: dict[str, JudgedClaim] = {}
        self.expect(planned)

    def expect(self, planned: Sequence[PlannedCase]) -> None:
        """Expect more trials, from claims that could not be planned earlier."""
        for each in planned:
            self._planned[each.case.claim].append(each)
            self._missing[each.case.claim].update(map(_address, each.trials))

    def ended(self, trial: Trial, outcome: _Outcome) -> JudgedClaim | None:
        """Record a trial's outcome. If the trial was the claim's last missing trial, return the judged claim."""
        self._note(trial.address, outcome)
        self._missing[trial.claim].discard(trial.address)
        return None if self._missing[trial.claim] else self._claim(trial.claim)

    def all_ended(self, outcomes: Mapping[str, _Outcome]) -> tuple[tuple[JudgedClaim, ...], tuple[LabError, ...]]:
        """Return all judged claims and the errors of failed trials. `outcomes` maps addresses to outcomes."""
        for address, outcome in outcomes.items():
            self._note(address, outcome)
        ended = [outcomes[trial.address] for cases in self._planned.values() for trial in trials_of(cases)]
        errors = tuple(outcome for outcome in ended if isinstance(outcome, LabError))
        return tuple(map(self._claim, self._experiments)), errors

    def _note(self, address: str, outcome: _Outcome) -> None:
        """Store an outcome, and load its record now, before other processes can remove the record from the store."""
        if isinstance(outcome, Record):
            with suppress(RecordError):  # the reader of the damaged part will report it
                outcome.load()
        self._outcomes[address] = outcome

    def _claim(self, claim: str) -> JudgedClaim:
        if claim not in self._judged:
            self._judged[claim] = self._judge(self._experiments[claim], self._planned[claim])
        return self._judged[claim]

    def _judge(self, loaded: LoadedExperiment, planned: Sequence[PlannedCase]) -> JudgedClaim:
        without = {}
        records: list[Record] = []
        for each in planned:
            ended = [self._outcomes[trial.address] for trial in each.trials]
            failed = [outcome for outcome in ended if isinstance(outcome, LabError)]
            if each.skipped:
                without[each.case.key] = Verdict("skipped", each.skipped)
            elif failed:
                without[each.case.key] = Verdict("invalid", str(failed[0]))
            else:
                records += [outcome for outcome in ended if isinstance(outcome, Record)]
        cases = tuple(case for each in planned for case in each.cases)
        kernel, untestable = self._settings.kernel.describe(), loaded.experiment.untestable
        predictions = Predictions(self._predictions, loaded.source_sha256, kernel["id"])
        result = judge_records(cases, records, kernel, self._settings.clock, predictions, without, untestable)
        return JudgedClaim(loaded, cases, result, tuple(records), kernel, predictions)


def _address(trial: Trial) -> str:
    return trial.address
