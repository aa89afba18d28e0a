"""What trials need is known before they begin, and where that will not do, none begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.app import room, running
from lab.app.options import RunOptions
from lab.app.room import NoRoom, Room
from lab.runner.cost import Cost
from tests.ext.cluster.test_campaign_parts import CLAIMS, settings

COSTS = [Cost(1.0, 10, 100), Cost(1.0, 30, 300), Cost(1.0, 20, 200)]


def test_disk_is_for_all_and_memory_for_those_at_once() -> None:
    assert room.needed(COSTS, 1) == Room(60, 300 + 2 * 30)
    assert room.needed(COSTS, 2) == Room(60, 500 + 2 * 30)
    assert room.needed(COSTS, 9) == Room(60, 600 + 2 * 30)
    assert room.needed([], 2) == Room(0, 0)


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (Room(59, 1000), r"60 B of disk, but .*store has 59 B"),
        (Room(60, 359), r"360 B of memory, but 359 B are free"),
        (Room(1, 1), r"of disk.*of memory.*--anyway"),
    ],
)
def test_what_lacks_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: Room, said: str
) -> None:
    monkeypatch.setattr(room, "free", lambda _: there)
    with pytest.raises(NoRoom, match=said) as refused:
        room.check(room.needed(COSTS, 1), tmp_path / "store")
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 3


@pytest.mark.parametrize("there", [Room(60, 360), Room(60, None)])
def test_what_will_do_or_is_not_known_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: Room
) -> None:
    monkeypatch.setattr(room, "free", lambda _: there)
    room.check(room.needed(COSTS, 1), tmp_path)


def test_what_is_free_is_asked_of_the_disk_and_the_nearest_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path.joinpath(*Path("/proc/self/cgroup").read_text().strip().partition("::")[2].lstrip("/").split("/"))
    own.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(room, "CGROUP", tmp_path)
    monkeypatch.setattr(room, "MEMINFO", tmp_path / "meminfo")
    assert room.free(tmp_path / "not" / "there").memory is None
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 4 kB\n")
    assert room.free(tmp_path).memory == 4096
    (own / "memory.max").write_text("1000\n")
    (own / "memory.current").write_text("400\n")
    found = room.free(tmp_path)
    assert found.memory == 600
    assert found.disk > 0


def test_a_run_without_room_begins_nothing_unless_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "free", lambda _: Room(0, 0))
    some, given = CLAIMS[:1], settings()
    with pytest.raises(NoRoom):
        running.run(some, given, RunOptions(results=tmp_path))
    assert not list(tmp_path.glob("??"))
    with pytest.raises(AssertionError, match="nothing is run here"):  # the stub's, which is asked to start
        running.run(some, given, RunOptions(results=tmp_path, anyway=True))


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 B"), (999, "999 B"), (1e3, "1 kB"), (999_600, "1 MB"), (61e9, "61 GB"), (5e15, "5e+03 TB")],
)
def test_bytes_are_said_as_a_person_says_them(count: float, said: str) -> None:
    assert room.amount(count) == said
