"""Trials in real time run when nothing is being built any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.app import running
from lab.app.options import RunOptions
from lab.errors import LabError
from lab.guest.trial import Trial
from lab.runner import schedule, tools
from lab.spec.loaded import LoadedExperiment
from tests.ext.cluster.test_campaign_parts import CLAIMS, settings


class Come:
    """Kernels of which some are here, and the others come when all that can run has run."""

    def __init__(self, happened: list[str], error: LabError | None) -> None:
        self.happened, self.error = happened, error

    def parts(self, experiments: Sequence[LoadedExperiment]) -> Iterator[Sequence[LoadedExperiment]]:
        yield [each for each in experiments if not any(case.kernel for case in each.cases())]
        self.happened.append("built")
        if not self.error:
            yield [each for each in experiments if any(case.kernel for case in each.cases())]
        self.happened.append("over")

    @contextmanager
    def shown(self, _: object) -> Iterator[None]:
        yield

    def check(self) -> None:
        if self.error:
            raise self.error


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which trials were performed, by their clock; all fail."""
    found: list[str] = []

    def perform(trial: Trial, *_: object) -> None:
        found.append(trial.clock)
        raise LabError("nothing is run here")

    monkeypatch.setattr(schedule, "run_in_guest", perform)
    monkeypatch.setattr(tools, "versions", lambda _: {})  # whatever this machine has
    return found


def test_real_time_comes_when_all_is_built_and_all_claims_are_judged(tmp_path: Path, ran: list[str]) -> None:
    told: list[str] = []
    found = running.run(
        *(CLAIMS, settings(), RunOptions(results=tmp_path, anyway=True)),
        judged=lambda claim: told.append(claim.declared.id),
        coming=Come(ran, None),
    )
    places = {
        name: [at for at, each in enumerate(ran) if each == name] for name in ("virtual", "real", "built", "over")
    }
    assert min(places["real"]) > places["over"][0] > max(places["virtual"]) > places["built"][0] > 0
    assert [claim.declared.id for claim in found.judged] == [each.id for each in CLAIMS]
    assert sorted(told) == sorted(each.id for each in CLAIMS), "each is told once"


def test_without_its_kernels_all_else_runs_before_the_error_is_raised(tmp_path: Path, ran: list[str]) -> None:
    options = RunOptions(results=tmp_path, anyway=True)
    with pytest.raises(LabError, match="does not compile"):
        running.run(CLAIMS, settings(), options, coming=Come(ran, LabError("it does not compile")))
    assert ran[-1] == "real"
    assert ran.index("real") > ran.index("over")
