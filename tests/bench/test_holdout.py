"""A draw is predicted, run and scored; an error planted in the model is found."""

import json
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import holdout
from bench.draw import Drawn, draw
from bench.scores import Score
from lab.machine.kernel import Kernel, KernelMissing, choose
from lab.model import ModelError, Scenario, goodput_bulk, goodput_line_rate, line
from lab.model.transfer import _played
from lab.record.store import Store
from lab.verdict.judged import scenario_of

DAY = "2026-01-01"
KERNEL = {"name": "7.2", "version": "7.2", "id": "", "hz": 1000, "patches": []}
NO_FRAME = SimpleNamespace(AROUND=0)  # a model without Ethernet's headers


def full(drawn: Drawn) -> bool:
    """Whether it is a transfer on 7.2 that fills its link, and whose frames are small."""
    if (drawn.case.arm, drawn.kernel) != ("bulk-goodput", "7.2"):
        return False
    scenario = scenario_of(drawn.case, KERNEL)
    try:
        return goodput_bulk(scenario).number > 0.98 * goodput_line_rate(scenario).number and _small(scenario)
    except ModelError:
        return False


def _small(scenario: Scenario) -> bool:
    return line.frame(scenario).bytes <= 1538


@pytest.fixture
def forgetful() -> Iterator[None]:
    """Transfers are played anew in this test, and after it."""
    _played.cache_clear()
    yield
    _played.cache_clear()


def run(case: Drawn, kernel: Kernel, results: Path) -> Score:
    (score,) = holdout.run([case], {"7.2": kernel}, results, jobs=1)
    return score


@pytest.mark.guest
@pytest.mark.usefixtures("forgetful")
def test_an_error_planted_in_the_model_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, kernel = next(filter(full, (draw(DAY, number) for number in count(1)))), choose("uml", "7.2")
    sound = run(case, kernel, tmp_path)
    assert sound.simulation is not None
    assert sound.simulation < 0.005
    assert not sound.missed
    assert not sound.result.after_the_fact
    (record,) = Store(tmp_path)
    began = record.started
    shutil.rmtree(Store(tmp_path).predictions)
    _played.cache_clear()
    monkeypatch.setattr(line, "ethernet", NO_FRAME)
    planted = run(case, kernel, tmp_path)
    assert planted.missed
    assert planted.result.after_the_fact  # the trial was in the store: it did not run again
    assert next(iter(Store(tmp_path))).started == began
    assert f"--date {DAY} --only {case.number}" in holdout.named(planted, DAY)
    found = json.loads(json.dumps(holdout.plain(DAY, [planted], {"7.2": kernel}), allow_nan=False))
    assert found["misses"] == [case.number]
    (kept,) = found["cases"]
    assert (kept["number"], kept["arm"], kept["kind"]) == (case.number, "bulk-goodput", "simulation")
    assert found["kinds"]["bulk-goodput"]["simulation"]["50 %"] == planted.simulation


def test_without_a_kernel_it_names_the_cure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(on: str, name: str) -> Kernel:
        raise KernelMissing(f"{on} {name}: run `lab kernel build {name}`")

    monkeypatch.setattr(holdout, "choose", missing)
    assert holdout.main(["--date", DAY, "--only", "1"]) == 3
    assert "lab kernel build" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--date", "today"], ["--cases", "many"], ["--cases", "0"], ["--only", "0"]])
def test_what_is_no_draw_is_refused(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        holdout.main(argv)
    assert left.value.code == 2
    assert argv[1] in capsys.readouterr().err
