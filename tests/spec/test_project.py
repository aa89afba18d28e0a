"""The project's folder: the current directory, or the nearest parent with topologies/ that the user trusts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab.app.options import reading_from, usual, writing_to
from lab.errors import InputError
from lab.spec import find, shipped


@pytest.fixture
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "notes" / "today"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("LAB_RESULTS", raising=False)
    return folder


def test_a_folder_without_a_project_is_its_own_project(below: Path) -> None:
    assert shipped.project() == below
    assert usual() == Path("results")


@pytest.mark.usefixtures("below")
def test_a_subfolder_belongs_to_the_project_above(tmp_path: Path) -> None:
    (tmp_path / "topologies").mkdir()
    (tmp_path / "topologies" / "mine.yaml").write_text("about: a\nhosts: [a, b]\nlinks: {wire: {ends: [a, b]}}\n")
    assert shipped.project() == tmp_path
    assert "mine" in find.topologies()
    assert writing_to(None) == reading_from(None) == tmp_path / "results"


@pytest.mark.parametrize("name", ["experiments", "topologies"])
def test_the_current_directory_comes_first(below: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "topologies").mkdir()
    (below / name).mkdir()
    assert shipped.project() == below


def test_other_peoples_experiments_above_do_not_count(below: Path, tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    assert shipped.project() == below, "many folders are called experiments"


def test_a_strangers_folder_above_does_not_count(below: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "topologies").mkdir()
    monkeypatch.setattr(shipped, "_owner", lambda _: os.getuid() + 1)
    assert shipped.project() == below
    (tmp_path / "topologies").rmdir()
    (tmp_path / "topologies").symlink_to("/")
    monkeypatch.undo()
    assert shipped.project() != tmp_path, "a link is no folder of the user's"


def test_a_store_that_is_named_is_relative_to_the_current_directory(below: Path, tmp_path: Path) -> None:
    (tmp_path / "topologies").mkdir()
    assert writing_to("results") == Path("results")
    with pytest.raises(InputError, match="resluts: no such file"):
        reading_from("resluts")
    (below / "file").touch()
    with pytest.raises(InputError, match="file is a file, not a store of records"):
        reading_from("file")
