"""From a run's figures to a card's points: the references of the same seeds, missing seeds, and failed trials."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.app import running
from lab.app.options import RunOptions
from lab.app.running import Judgement
from lab.errors import InputError, LabError
from lab.ext.cc import judging
from lab.ext.cc.card import CaseScore
from lab.ext.cc.cases import JudgeCase
from lab.guest.testbed import WorkloadError
from lab.guest.workload.sockets import control_congestion
from lab.machine.kernel import UmlKernel
from lab.runner.plan import Settings
from lab.spec.loaded import LoadedExperiment
from lab.units import Value
from lab.verdict import ClaimResult, Result, Verdict
from lab.verdict.judged import JudgedClaim
from lab.verdict.sample import Sample
from tests.ext.cc.cards import shipped_pack


def pair() -> JudgeCase:
    """The case of two flows of one congestion control."""
    return next(case for case in shipped_pack().cases if case.name == "rfc9743/even-pair")


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that judges CUBIC on one case, whose trials gave these figures and errors."""

    def judged(figures: Mapping[int, Value], seed: int = 1, quick: bool = False, errors: Any = ()) -> CaseScore:
        def run(studies: Sequence[LoadedExperiment], *_: Any, **__: Any) -> Judgement:
            sample = Sample({(seed, 0): figure for seed, figure in figures.items()})
            measured = Result(
                "cubic", "", None, None, sample.estimate, None, True, (), sample=sample, figure=pair().figure
            )
            missing = replace(measured, arm="cubic-half-the-rate", measured=None, sample=Sample({}))
            results = (measured, missing)
            found = ClaimResult(pair().name, Verdict("inconclusive", ""), "7.2", "virtual", results)
            return Judgement((JudgedClaim(studies[0], studies[0].cases(), found, (), None),), tuple(errors))

        monkeypatch.setattr(running, "run", run)
        kernel = UmlKernel("7.2", "7.2.13-1", "k1", 1000, (), Path("linux"), 0, True)
        settings = Settings(kernel, seed=seed)
        (case,) = judging.judged(shipped_pack(), [pair()], "cubic", settings, RunOptions(), quick, ()).cases
        return case

    return judged


def index(number: float) -> Value:
    return Value(number, "1")


def test_references_have_the_seeds_of_the_judged_trials(judge: Any) -> None:
    known = [figure.number for figure in pair().references["cubic"]]
    for seed in (1, 2, 3):
        case = judge({seed: index(0.75)}, seed, quick=True)
        assert case.references["cubic"] == pytest.approx(200 * (known[seed - 1] - 0.5))
    assert judge({1: index(0.5), 2: index(0.5), 3: index(0.5)}).references
    for seed in (0, 2):
        figures = {each: index(0.5) for each in range(seed, seed + 3)}
        assert not judge(figures, seed).references, "there is no figure for each of these seeds"


def test_a_seed_without_a_figure_earns_no_points_and_has_a_reason(judge: Any) -> None:
    case = judge({1: index(1), 3: index(0.75)})
    assert case.seeds == (100, 0, 50)
    assert case.why == "no figure with seed 2"


def test_a_changed_path_without_a_figure_earns_no_points(judge: Any) -> None:
    assert judge(dict.fromkeys((1, 2, 3), index(1))).paths == {"half the rate": 0}


def test_a_figure_in_another_unit_than_the_scale_is_one_message(judge: Any) -> None:
    with pytest.raises(InputError, match=r"rfc9743/even-pair: the figure is in s, .*; change the scale"):
        judge({1: Value(1, "s")}, quick=True)


def test_a_control_that_the_guest_lacks_is_an_error_and_has_no_points(judge: Any) -> None:
    with socket.socket() as sock, pytest.raises(WorkloadError) as said:
        control_congestion(sock, "no_such_one")
    with pytest.raises(LabError, match="has no congestion control 'no_such_one'"):
        judge({1: index(1)}, quick=True, errors=[LabError(f"flow 'judged': {said.value}")])
