"""What dead processes left is removed; what living ones use, and what is not the lab's, stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab.kernel import SCRATCH_PREFIX
from lab.owner import owner
from lab.runner import cleaning


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
