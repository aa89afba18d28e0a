"""What a trial leaves may be anything: what makes no record fails its trial alone, and the store works on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.record.record import _MOST, LONGEST_TEXT, Output, RecordError
from lab.record.store import Stage, StageUnfit, Store
from tests.record.test_store import files, record
from tests.trials import trial


def deep(stage: Stage) -> None:
    top = stage.out
    for _ in range(40):
        top = top / "d"
        top.mkdir()


def not_utf8(stage: Stage) -> None:
    Path(os.fsdecode(bytes(stage.out) + b"/\xff")).touch()


def sparse(stage: Stage) -> None:
    for name in "ab":
        with (stage.out / name).open("wb") as file:
            file.truncate(15 << 30)


def no_outputs(stage: Stage) -> None:
    stage.out.rmdir()
    stage.out.touch()


@pytest.mark.parametrize(
    ("leave", "what"),
    [
        (deep, r"more than 32 folders within each other, out/d/d.*"),
        (not_utf8, "a file whose name is not UTF-8, out/\ufffd"),
        (sparse, "files of more than 16384 MiB"),
        (lambda stage: (stage.out / "link").symlink_to("/etc/shadow"), "out/link, which is neither .*"),
        (lambda stage: (stage.out / "folder").symlink_to("/etc"), "out/folder, which is neither .*"),
        (lambda stage: os.mkfifo(stage.out / "pipe"), "out/pipe, which is neither a file nor a folder"),
        (lambda stage: (stage.path / "notes\x1b[2J").touch(), "notes\ufffd\\[2J, which does not belong beside out/"),
        (lambda stage: (stage.path / "record.json").mkdir(), "record.json, which does not belong beside out/"),
        (lambda stage: (stage.path / "trial.json").mkdir(), "trial.json, which does not belong beside out/"),
        (lambda stage: (stage.path / "host.json").touch(), "host.json, which does not belong beside out/"),
        (lambda stage: (stage.path / "console.log").mkdir(), "console.log, which does not belong beside out/"),
        (lambda stage: (stage.path / "more" / "in").mkdir(parents=True), "more, which does not belong beside out/"),
        (no_outputs, "out, which does not belong beside out/"),
    ],
)
def test_what_makes_no_record_fails_its_trial_alone(tmp_path: Path, leave: Callable[[Stage], None], what: str) -> None:
    store = Store(tmp_path / "store")
    with store.stage(trial()) as stage:
        leave(stage)
        with pytest.raises(StageUnfit, match=f"^the trial left {what}$"):
            stage.commit({})
    assert files(store.root) == []
    assert list((store.root / ".staging").iterdir()) == [], "nor anything that is no file"
    record(store).verify()
    assert [each.address for each in Store(store.root)] == [trial().address]


HUGE = {
    "names": ({}, 1200, {}, "record.json: is larger than 1,118,481 bytes"),
    "an environment": ({"x": "y" * (5 << 20)}, 1, {}, "record.json: the environment is too large"),
    "what the host says": ({}, 1, {"x": "y" * (2 << 20)}, "host.json: is larger than 1,048,576 bytes"),
}


@pytest.mark.parametrize(("environment", "number", "host", "what"), HUGE.values(), ids=HUGE.keys())
def test_a_record_that_could_not_be_read_fails_its_trial_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    number: int,
    host: dict[str, str],
    what: str,
) -> None:
    """36,000 files with paths of 930 bytes would be within all bounds of what a guest leaves."""
    monkeypatch.setitem(_MOST, "record.json", (32 << 20) * number // 36_000 if number > 1 else 32 << 20)
    store = Store(tmp_path / "store", durable=False)
    with store.stage(trial()) as stage:
        place = stage.out.joinpath(*(["d" * 225] * 4))
        place.mkdir(parents=True)
        for each in range(number):
            (place / f"{each:05}").touch()
        with pytest.raises(StageUnfit, match=f"^the trial left more than a record can hold: {what}$"):
            stage.commit(environment, host=host)
    assert files(store.root) == []
    assert [each.address for each in Store(store.root)] == []


def test_an_output_that_is_too_long_for_memory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = record(Store(tmp_path))
    monkeypatch.setattr(type(made), "outputs", {"ping.txt": Output("", LONGEST_TEXT + 1)})
    with pytest.raises(RecordError, match=r"'ping.txt' is unreadable: it has more than"):
        made.text("ping.txt")
