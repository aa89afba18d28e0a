"""What a file server did counts as done, though its answer was lost."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.base.moving import link, make, move
from lab.base.owner import private
from lab.record.store import Store
from tests.record.test_store import record
from tests.trials import trial

HEARD = {"rename": errno.ENOENT, "replace": errno.ENOENT, "link": errno.EEXIST, "mkdir": errno.EEXIST}
Lose = Callable[[], None]


@pytest.fixture
def lose(monkeypatch: pytest.MonkeyPatch) -> Lose:
    """Makes each call from now on be done, and fail as if it was asked for again."""

    def lossy(name: str) -> Callable[..., None]:
        do = getattr(os, name)

        def asked(*arguments: Any, **named: Any) -> None:
            do(*arguments, **named)
            raise OSError(HEARD[name], os.strerror(HEARD[name]), *map(str, arguments[:1]))

        return asked

    def begin() -> None:
        for name in HEARD:
            monkeypatch.setattr(os, name, lossy(name))

    return begin


def test_an_empty_folder_counts_as_made_and_no_other(tmp_path: Path, lose: Lose) -> None:
    lose()
    make(tmp_path / "new")
    (tmp_path / "new" / "file").touch()
    (tmp_path / "file").touch()
    for taken in ("new", "file"):
        with pytest.raises(FileExistsError):
            make(tmp_path / taken)


def test_what_was_moved_or_linked_is_found(tmp_path: Path, lose: Lose) -> None:
    (tmp_path / "one").write_text("1")
    (tmp_path / "folder").mkdir()
    lose()
    link(tmp_path / "one", tmp_path / "two")
    move(tmp_path / "one", tmp_path / "three")
    move(tmp_path / "folder", tmp_path / "moved")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["moved", "three", "two"]


def test_what_was_not_moved_or_linked_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "another").write_text("1")
    for target in (tmp_path / "folder", tmp_path / "nowhere" / "one"):
        with pytest.raises(OSError, match=r"folder|nowhere"):
            move(tmp_path / "one", target)
    with pytest.raises(FileExistsError):
        link(tmp_path / "one", tmp_path / "folder" / "another")
    assert (tmp_path / "one").exists()


def test_a_private_folder_is_ours_though_it_seems_to_be_there(tmp_path: Path, lose: Lose) -> None:
    (tmp_path / "home").mkdir()
    lose()
    with private(tmp_path / "home", "what") as path:
        assert [path] == list((tmp_path / "home").iterdir())
    assert list((tmp_path / "home").iterdir()) == []


def test_a_store_takes_keeps_and_removes_records_though_answers_are_lost(tmp_path: Path, lose: Lose) -> None:
    store, other = Store(tmp_path / "store"), Store(tmp_path / "other")
    lose()
    kept = record(store)
    other.adopt(kept)
    other.share(kept, trial(arm="same-run"))
    assert len(list(store)) == 1
    for each in (kept, *other):
        each.verify()
    assert len(list(other)) == 2
    store.remove(kept.address)
    assert list(store) == []
    assert [path for root in (store, other) for path in (root.root / ".staging").iterdir()] == []
