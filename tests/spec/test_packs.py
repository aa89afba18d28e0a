"""A pack is a folder with claims, topologies and notebooks of its own: beside ours, or anywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import InputError
from lab.report import notebooks
from lab.spec import find, shipped

TOPOLOGY = "about: Two hosts.\nhosts: [sender, receiver]\nlinks: {way: {ends: [sender, receiver], delay: 1 ms}}\n"
CLAIM = '''\
"""A round trip takes 2 ms."""

from lab import Arm, Experiment, Ping, Reported, Within, metric

EXPERIMENT = Experiment(
    topology="mine-alone",
    workload=Ping(),
    metric=metric.ping_rtt(),
    arms=(Arm("only", Reported("2 ms", "2 ms")),),
    tolerance=Within(0.1, because="a digit"),
)
'''


def pack(folder: Path) -> Path:
    for name, text in (
        ("topologies/mine-alone.yaml", TOPOLOGY),
        ("experiments/somebody/round-trip.py", CLAIM),
        ("experiments/somebody/delay-10ms.py", CLAIM),
        ("experiments/somebody/delay-9ms.py", CLAIM),
        ("notebooks/somebody.ipynb", "{}"),
        ("notebooks/other.ipynb", "{}"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_folder_anywhere_is_run_by_its_path(tmp_path: Path) -> None:
    folder = pack(tmp_path / "theirs")
    found = find.find([str(folder)])
    assert [claim.id for claim in found] == ["somebody/delay-9ms", "somebody/delay-10ms", "somebody/round-trip"]
    assert {claim.topology.name for claim in found} == {"mine-alone"}, "its own topologies come first"
    assert "somebody/round-trip" not in find.experiments()


def test_a_pack_beside_us_is_found_by_all_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack(tmp_path / "packs" / "theirs")
    monkeypatch.chdir(tmp_path)
    for name in ("theirs", "somebody", "somebody/round-trip", str(Path("packs", "theirs"))):
        assert "somebody/round-trip" in [claim.id for claim in find.find([name])]
    assert "somebody/round-trip" in find.experiments()
    assert "somebody/round-trip" not in [claim.id for claim in find.find()], "packs run when they are asked for"
    assert "mine-alone" in find.topologies()
    assert set(shipped.packs()) >= {"theirs", "congestion-control"}
    assert notebooks.found()["somebody"] == tmp_path / "packs" / "theirs" / "notebooks" / "somebody.ipynb"
    assert "other" not in notebooks.found()


def test_a_claim_of_a_folder_anywhere_is_run_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The claims of a rebuilt capture are called as their folder, rb/gains, in progress lines and reports."""
    pack(tmp_path / "somebody")
    monkeypatch.chdir(tmp_path)
    for name in ("somebody/round-trip", "./somebody/round-trip", str(tmp_path / "somebody" / "round-trip")):
        assert [claim.id for claim in find.find([name])] == ["somebody/round-trip"]
        assert find.is_known(name)
    monkeypatch.chdir(tmp_path / "somebody")
    for wrong in ("somebody/trip", "round-trip"):  # the second has no folder before it
        assert not find.is_known(wrong)
        with pytest.raises(InputError, match=f"unknown claim, article or pack '{wrong}'"):
            find.find([wrong])


def test_a_folder_that_is_no_pack_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not an experiment or a pack"):
        find.find([str(tmp_path)])


def test_a_pack_without_an_experiment_is_not_all_claims(tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    with pytest.raises(InputError, match=r"has no experiment; write one in .*/experiments/ARTICLE/CLAIM\.py"):
        find.find([str(tmp_path)])


def test_another_tools_file_is_for_lab_import(tmp_path: Path) -> None:
    (tmp_path / "x.clab.yml").touch()
    with pytest.raises(InputError, match=r"x\.clab\.yml is not an experiment.*`lab import` reads other tools' files"):
        find.find([str(tmp_path / "x.clab.yml")])


@pytest.mark.long
@pytest.mark.parametrize("folder", shipped.packs().values(), ids=lambda folder: folder.name)
def test_a_shipped_pack_has_no_mistakes_and_a_page_for_each_source(folder: Path) -> None:
    claims = find.find([str(folder)])
    for claim in claims:
        assert claim.cases()
        assert claim.article.url.startswith("https://")
    assert {claim.article.name for claim in claims} == {path.stem for path in (folder / "notebooks").glob("*.ipynb")}
