"""The pack's cases: their scales, and the flows under judgement."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from lab.ext.cc import cases, flows
from lab.guest.workload import Bulk, Flow, Flows, Ping
from lab.report.wording import figure
from lab.spec import find, shipped
from lab.spec.errors import SpecError
from lab.spec.loaded import LoadedExperiment
from lab.units import Size, Value
from tests.ext.cc.cards import shipped_pack


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory's own copy of the pack."""
    folder = tmp_path / "packs" / cases.PACK
    shutil.copytree(shipped.packs()[cases.PACK], folder)
    monkeypatch.chdir(tmp_path)
    return folder


@cache
def shipped_studies() -> tuple[LoadedExperiment, ...]:
    return find.find([cases.PACK])


@pytest.fixture
def scores(copy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The copy's scales. They are for the studies that the lab ships, which are read once."""
    studies = shipped_studies()
    monkeypatch.setattr(find, "find", lambda _: studies)
    return copy / cases.SCORES


def test_another_scale_gives_the_scales_another_version(scores: Path) -> None:
    before = cases.load().scales
    text = scores.read_text()
    remarked = f"# a remark\n{text}".replace("blind: whether", "blind: maybe whether", 1)
    assert remarked.count("maybe") == 1
    scores.write_text(remarked)
    assert cases.load().scales == before, "prose changes no score"
    scores.write_text(text.replace("none: 0.5\n", "none: 0.4\n", 1))
    assert cases.load().scales != before


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "old", "new", "decides"),
    [
        ("experiments/rfc9743/one-flow.py", "Duration.of(", "Duration.of( ", False),
        ("experiments/rfc9743/one-flow.py", '"bottleneck", 4, 14', '"bottleneck", 5, 14', True),
        ("topologies/judge-bottleneck.yaml", "about: ", "about: In short, ", False),
        ("topologies/judge-bottleneck.yaml", "12 Mbit/s", "13 Mbit/s", True),
    ],
    ids=["layout", "times", "prose", "rate"],
)
def test_a_cases_source_and_network_decide_its_scores(copy: Path, name: str, old: str, new: str, decides: bool) -> None:
    before, file = shipped_pack().scales, copy / name
    changed = file.read_text().replace(old, new)
    assert changed != file.read_text()
    file.write_text(changed)
    assert (cases.load().scales != before) is decides


def test_twenty_cases_are_quick() -> None:
    known = shipped_pack().cases
    assert len([case for case in known if case.is_quick]) == 20
    assert {case.criterion for case in known if case.is_quick} == {case.criterion for case in known}


def test_a_cases_scale_fits_its_figure() -> None:
    for case in shipped_pack().cases:
        metric = next(each.metric for each in case.study.cases() if each.figure == case.figure)
        assert getattr(metric, "unit", "") in ("", case.scale.all.unit), f"{case.name}: an own metric declares no unit"
        buffer = flows.buffer_time(flows.bottleneck(case.study))
        none = case.scale.none or buffer
        assert none is not None, case.name
        assert case.scale.points(none, buffer) == 0, case.name
        assert case.scale.points(case.scale.all, buffer) == 100, case.name


def test_the_packs_own_arms_are_what_the_judge_would_run() -> None:
    for case in shipped_pack().cases:
        declared = case.study.cases()
        for arm in case.study.experiment.arms:
            (ours,) = flows.study_of(case.study, arm.name, 5).cases()[:1]
            theirs = next(each for each in declared if each.arm == arm.name)
            said = (case.name, arm.name)
            assert (ours.workload, ours.network, ours.arm) == (theirs.workload, theirs.network, theirs.arm), said


def test_only_the_flows_under_judgement_change() -> None:
    case = next(case for case in shipped_pack().cases if case.name == "rfc9743/beside-cubic")
    (found, *_) = flows.study_of(case.study, "vegas", 1).cases()
    assert isinstance(found.workload, Flows)
    assert {flow.name: flow.workload.writer().congestion for flow in found.workload.flows} == {
        "judged": "vegas",
        "cubic": "cubic",
    }


def test_a_mixture_has_an_arm_for_each_rival() -> None:
    found = flows.mixture_of(shipped_pack().mixture, "vegas", ("reno", "bbr"), 1).cases()
    arms = {case.arm: case.workload for case in found}
    assert list(arms) == ["vegas-against-reno", "vegas-against-bbr"]
    controls = [[flow.workload.writer().congestion for flow in each.parts()] for each in arms.values()]
    assert controls == [["vegas", "reno"], ["vegas", "bbr"]]


def test_changed_paths_change_one_setting_of_the_bottleneck() -> None:
    study = flows.study_of(shipped_pack().cases[0].study, "mine", 5, paths=True)
    links = {case.arm: flows.forward(case.network) for case in study.cases()}
    plain = links.pop("mine")
    assert plain.rate is not None
    assert plain.queue is not None
    assert [arm.removeprefix("mine-") for arm in links] == [path.replace(" ", "-") for path in flows.PATHS]
    for arm, link in links.items():
        assert link.rate is not None
        assert link.queue is not None
        factor = 0.5 if "half" in arm else 2
        ratios = {
            "rate": link.rate.bps / plain.rate.bps,
            "delay": link.delay.ns / plain.delay.ns,
            "buffer": dict(link.queue.parameters)["limit"] / dict(plain.queue.parameters)["limit"],  # type: ignore[operator]
        }
        assert ratios == {name: factor if name in arm else 1 for name in ratios}
        assert study.experiment.arms[1].samples == 1


def test_a_queue_without_a_limit_in_packets_keeps_its_buffer() -> None:
    codel = next(case for case in shipped_pack().cases if case.name == "rfc9743/codel")
    arms = [arm.name for arm in flows.study_of(codel.study, "mine", 5, paths=True).experiment.arms]
    assert arms[1:] == ["mine-half-the-rate", "mine-twice-the-rate", "mine-half-the-delay", "mine-twice-the-delay"]
    assert flows.buffer_time(flows.bottleneck(codel.study)) is None


def test_a_full_buffer_takes_its_frames_time() -> None:
    bloated = next(case for case in shipped_pack().cases if case.name == "rfc9743/bufferbloat")
    assert flows.buffer_time(flows.bottleneck(bloated.study)) == Value(200 * 1538 * 8 / 12e6, "s")


@pytest.mark.long
@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        ("rfc9743/one-flow:", "rfc9743/full-lnk:", r"rfc9743/full-lnk: unknown study; did you mean"),
        ("  figure: utilisation", "  figure: utilization", r"unknown figure 'utilization'; did you mean 'utilisation'"),
        ("  quick: true", "  quik: true", r"quik: unknown key; did you mean 'quick'"),
        ("  blind:", "  blnd:", r"missing: blind"),
        ("  all: 0.941", "  all: 0.941 apples", r"all: '0.941 apples' is not"),
        ("  all: 0.941", "  all: 0", r"none and all should be two different finite figures"),
        ("  all: 0.941", "  all: .nan", r"none and all should be two different finite figures"),
        ("  all: 0.941", f"  all: 1{'0' * 400}", r"none and all should be two different finite figures"),
        (
            "  none: 0\n",
            "  none: 100 ms\n",
            r"none is in s, all without a unit, and the figure without a unit; use one unit",
        ),
        (
            "  none: 0\n",
            "  none: buffer\n",
            r"none is in s, all without a unit, and the figure without a unit; use one unit",
        ),
    ],
)
def test_a_mistake_in_the_scores_has_a_line(scores: Path, was: str, now: str, says: str) -> None:
    scores.write_text(scores.read_text().replace(was, now, 1))
    with pytest.raises(SpecError, match=says) as refused:
        cases.load()
    assert str(refused.value).startswith(f"packs/{cases.PACK}/{cases.SCORES}:")


@pytest.mark.long
@pytest.mark.parametrize("given", ["x", "{cubic: x}", "{cubic: []}", "{cubic: [0.9, x]}", "{cubic: [.inf]}"])
def test_a_mistake_in_the_references_has_a_line(scores: Path, given: str) -> None:
    scores.with_name(cases.REFERENCES).write_text(f"kernel: 7.2.13-1\nrfc9743/one-flow: {given}\n")
    with pytest.raises(SpecError, match=rf"{cases.REFERENCES}:2: rfc9743/one-flow: .*should be a"):
        cases.load()


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "was", "now", "says"),
    [
        ("one-flow", '"judged"', '"other"', "no flow is under judgement"),
        ("mixture", '"rival"', '"other"', "no flow is the rival"),
    ],
)
def test_a_study_that_the_judge_cannot_use_has_a_line(copy: Path, name: str, was: str, now: str, says: str) -> None:
    file = copy / "experiments" / "rfc9743" / f"{name}.py"
    assert was in file.read_text()
    file.write_text(file.read_text().replace(was, now))
    with pytest.raises(SpecError, match=rf"{cases.SCORES}:\d+: rfc9743/{name}: {says}"):
        cases.load()


def test_a_study_needs_flows_and_a_bottleneck(monkeypatch: pytest.MonkeyPatch) -> None:
    study = shipped_pack().cases[0].study
    alone = replace(study, experiment=replace(study.experiment, workload=Bulk(size=Size(1000))))
    assert "give its workload, a Flows" in flows.mistake(alone)
    deaf = replace(study, experiment=replace(study.experiment, workload=Flows(flows=(Flow("judged", Ping()),))))
    assert "flow 'judged' is a Ping, which takes no congestion control" in flows.mistake(deaf)
    monkeypatch.setattr(flows, "BOTTLENECK", "narrow")
    assert "its topology has no link 'narrow'" in flows.mistake(study)


def test_a_case_may_lack_references(scores: Path) -> None:
    scores.with_name(cases.REFERENCES).unlink(missing_ok=True)
    assert all(not case.references for case in cases.load().cases)


def test_the_guide_lists_every_case_with_its_scale() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "congestion.md").read_text()
    for case in shipped_pack().cases:
        none = "full buffer" if case.scale.none is None else figure(case.scale.none)
        name = f"`{case.name.partition('/')[2]}`"
        rows = [line for line in guide.splitlines() if line.startswith((f"| {name} |", f"| **{name}** |"))]
        (row,) = (each for each in rows if case.study.claim in each)
        assert row.startswith("| **") == case.is_quick
        assert row.endswith(f"| {case.figure}: {none} to {figure(case.scale.all)} |")
