"""What dead processes left is removed; what living ones use, and what is not the lab's, stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab.base.owner import owner, sweep
from lab.machine.kernel import SCRATCH_PREFIX
from lab.record.store import Store
from lab.runner import cleaning
from lab.runner.guest import keep
from tests.trials import trial


@pytest.mark.parametrize("place", ["temporary", "memory"])
def test_folders_of_the_dead_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    for name in ("temporary", "memory"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(cleaning, "HOST_MEMORY", tmp_path / "memory")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    node, boot, pid, started = owner().split("~")
    assert pid == str(os.getpid())
    dead = tmp_path / place / f"{SCRATCH_PREFIX}~{node}~{boot}~{pid}~{int(started) + 1}~x"
    others = [
        tmp_path / place / f"{SCRATCH_PREFIX}~{owner()}~x",
        tmp_path / place / f"{SCRATCH_PREFIX}~elsewhere~{boot}~{pid}~1~x",
        tmp_path / place / f"other~{node}~{boot}~{pid}~1~x",
    ]
    for folder in (dead, *others):
        folder.mkdir()
    assert list(cleaning.sweep()) == [dead]
    assert sorted((tmp_path / place).iterdir()) == sorted(others)


@pytest.mark.parametrize("pid", ["abc", "-1", "1e3", "\u0661", "9" * 5000, "", "../1"])
def test_a_name_that_the_lab_gives_to_none_has_no_owner(tmp_path: Path, pid: str) -> None:
    """Any user may make files in the folder for temporary ones."""
    node, boot, _, started = owner().split("~")
    odd = tmp_path / f"{SCRATCH_PREFIX}~{node}~{boot}~{pid[:100].replace('/', '_')}~{started}~x"
    odd.mkdir()
    assert sweep(tmp_path) == ()
    assert odd.is_dir()


def test_a_link_in_place_of_a_dead_folder_is_left_and_nothing_waits_for_it(tmp_path: Path) -> None:
    node, boot, pid, started = owner().split("~")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "file").touch()
    link = tmp_path / f"{SCRATCH_PREFIX}~{node}~{boot}~{pid}~{int(started) + 1}~x"
    link.symlink_to("theirs")
    file = tmp_path / f"{SCRATCH_PREFIX}~{node}~{boot}~{pid}~{int(started) + 1}~y"
    file.touch()
    assert sweep(tmp_path) == ()
    assert (tmp_path / "theirs" / "file").exists()
    assert file.exists()


def test_only_consoles_go_from_the_folder_of_failed_trials(tmp_path: Path) -> None:
    (tmp_path / "console.log").write_text("booted")
    kept = keep(tmp_path / "console.log", Store(tmp_path / "results"), trial())
    other = kept.parent / "notes.log"
    other.write_text("mine")
    assert list(cleaning.clean(tmp_path / "results"))[-1] == f"the consoles of 1 failed trials in {kept.parent}"
    assert [path.name for path in kept.parent.iterdir()] == ["notes.log"]
    other.unlink()
    keep(tmp_path / "console.log", Store(tmp_path / "results"), trial())
    list(cleaning.clean(tmp_path / "results"))
    assert not kept.parent.exists()


def test_a_link_named_failed_is_left(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.b.c.0123456789ab.log").touch()
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "failed").symlink_to(tmp_path / "mine")
    assert [each for each in cleaning.clean(tmp_path / "results") if "console" in each] == []
    assert (tmp_path / "mine" / "a.b.c.0123456789ab.log").exists()
