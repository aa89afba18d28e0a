"""A study declares trials and figures without a claim, and its mistakes come with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.spec import find
from lab.spec.case import FigureKey
from lab.spec.errors import SpecError

STUDY = '''\
"""How much of the link do transfers use?"""

from lab import Arm, Bulk, Capture, Point, Study, Sweep, Within, Reported, metric, model

EXPERIMENT = Study(
    topology="symmetric-1g",
    workload=Bulk(),
    probes=(Capture(node="sender"),),
    metrics={metrics},
    arms=({arms},),
    {more}
)
'''
TWO = '{"goodput": metric.bulk_goodput(), "segments": metric.retransmits()}'


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "experiments" / "mine" / "use.py"
    path.parent.mkdir(parents=True)
    return path


def text(
    metrics: str = TWO, arms: str = 'Arm("plain"), Arm("short", sysctls={"net.ipv4.tcp_sack": 0})', more: str = ""
) -> str:
    return STUDY.format(metrics=metrics, arms=arms, more=more)


def test_every_arm_gives_every_figure_at_every_point(write: Path) -> None:
    write.write_text(text(more='sweep=Sweep("delay", (Point("1 ms"), Point("2 ms"))),'))
    (study,) = find.find([str(write)])
    keys = [case.figure_key for case in study.cases()]
    assert keys == [
        FigureKey(arm, point, figure)
        for arm in ("plain", "short")
        for point in ("1 ms", "2 ms")
        for figure in ("goodput", "segments")
    ]
    assert {case.tolerance for case in study.cases()} == {None}
    assert {case.accuracy for case in study.cases()} == {None}


def test_a_prediction_belongs_to_its_figure(write: Path) -> None:
    write.write_text(text(more='predictions={"goodput": model.goodput_bulk}, accuracy=Within(0.01, because="it is"),'))
    (study,) = find.find([str(write)])
    named = {case.figure: case.prediction.name for case in study.cases() if case.prediction}
    assert named == {"goodput": "goodput_bulk"}


def test_a_single_metric_needs_no_name(write: Path) -> None:
    write.write_text(text(metrics="metric.bulk_goodput()", more="predictions=model.goodput_bulk,"))
    (study,) = find.find([str(write)])
    assert [case.figure for case in study.cases()] == ["", ""]
    assert all(case.prediction for case in study.cases())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"arms": 'Arm("plain", Reported("1 Gbit/s", "one"))'},
            "arm 'plain' has claimed=, but a study judges no claim",
        ),
        ({"arms": 'Arm("plain", metric=metric.retransmits())'}, "arm 'plain' has metric=, but a study judges no claim"),
        ({"metrics": "{}"}, "metrics: there is none; name at least one metric"),
        ({"more": 'predictions={"goodputs": model.goodput_bulk},'}, "predictions: 'goodputs' is not a figure"),
        ({"metrics": "metric.long_run_goodput()"}, "its metric is a mean over time that includes the start of the run"),
        ({"more": 'path=("sender", "reciever"),'}, "path: the topology has no host 'reciever'"),
        (
            {"more": 'sweep=Sweep("delay", (Point("1 ms", Reported(1, "one")),)),'},
            "a point has claimed=, but a study judges no claim",
        ),
    ],
)
def test_a_mistake_comes_with_its_line(write: Path, changed: dict[str, str], message: str) -> None:
    write.write_text(text(**changed))
    with pytest.raises(SpecError) as raised:
        [loaded.cases() for loaded in find.find([str(write)])]
    (problem, *_) = raised.value.problems
    assert message in problem.message
    assert problem.line > 1


def test_chance_needs_no_ten_samples(write: Path) -> None:
    """A claim would be refused; a study shows what it has, with an interval."""
    write.write_text(text(more='links={"path": {"forward": {"loss": "1 %"}}},'))
    (study,) = find.find([str(write)])
    assert len(study.cases()) == 4
