"""The supervisor tells how a guest ended, and leaves nothing when anybody dies. A shell plays the guest here."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.machine.kernel import supervise
from lab.machine.kernel.supervise import LOOKS, Alarms, Rest, Watch


def judged(watch: Watch, *looks: tuple[float, float, int | None]) -> list[str | None]:
    return [watch.judge(*look) for look in looks]


def test_burning_cpu_while_the_clock_stands_is_a_livelock() -> None:
    looks = [(float(second), float(second), 500) for second in range(5)]
    assert judged(Watch(None, 3, None), *looks) == [None, None, None, None, "livelock"]


def test_a_slow_guest_is_no_livelock() -> None:
    looks = [(float(second), float(second), second * 10**7) for second in range(100)]
    assert not any(judged(Watch(None, 3, None), *looks))


def test_a_clock_that_only_trembles_is_a_livelock() -> None:
    """Where only processes that spin bring it on, say."""
    looks = [(float(second), float(second), second * 10**5) for second in range(100)]
    assert "livelock" in judged(Watch(None, 3, None), *looks)


def test_a_guest_starved_by_the_host_is_no_livelock() -> None:
    looks = [(float(second), 0.01 * second, 500) for second in range(100)]
    assert not any(judged(Watch(None, 3, None), *looks))


def test_processes_that_end_take_their_cpu_time_with_them() -> None:
    assert judged(Watch(None, 3, None), (0, 10, 5), (1, 12, 5), (2, 1, 5), (3, 1.9, 5), (4, 2.2, 5))[-1] == "livelock"


def test_without_a_clock_only_the_wall_counts() -> None:
    assert judged(Watch(10, 3, 1), (1, 1, None), (9, 9, None), (11, 11, None)) == [None, None, "wall"]


def test_guest_time_has_a_budget_of_its_own() -> None:
    assert judged(Watch(None, None, 2), (1, 1, 1_999_999_999), (1, 1, 2_000_000_001)) == [None, "guest"]


def test_who_computes_while_time_stands_is_asked_once_a_second() -> None:
    alarms = Alarms()
    looks = [(500, {7: seconds / 4, 8: 3.0}) for seconds in range(10)]
    assert [alarms.due(*look) for look in looks] == [[], [], [], [], [7], [], [], [], [7], []]


def test_who_computes_while_time_passes_is_not_asked() -> None:
    alarms = Alarms()
    assert not any(alarms.due(second, {7: float(second)}) for second in range(10))
    assert alarms.due(None, {7: 100.0}) == []


def test_who_is_new_is_asked_after_a_second_of_its_own() -> None:
    alarms = Alarms()
    assert [alarms.due(500, cpu) for cpu in ({}, {7: 50.0}, {7: 50.9}, {7: 51.0})] == [[], [], [], [7]]


def first_for_ever(*looks: tuple[int | None, float, str]) -> int | None:
    """The number of the look, from 0, at which a guest is found to wait for ever; a letter for each process."""
    rest = Rest()
    return next((at for at, (clock, cpu, states) in enumerate(looks) if rest.for_ever(clock, cpu, [*states])), None)


def test_who_sleeps_while_clock_and_cpu_stand_waits_for_ever() -> None:
    assert first_for_ever(*[(500, 1.0, "SS")] * (LOOKS + 5)) == LOOKS  # the first look has nothing to compare with
    assert first_for_ever(*[(500, 1.0, "ST")] * (LOOKS + 5)) == LOOKS
    assert first_for_ever(*[(500, 1.0, "SZ")] * (LOOKS + 5)) == LOOKS


@pytest.mark.parametrize(
    "look",
    [
        (500, 1.0, "SR"),  # given no CPU
        (500, 1.0, "DS"),  # waits for a disk
        (500, 1.0, "TS"),  # somebody stopped the kernel
        (500, 1.01, "SS"),
        (501, 1.0, "SS"),
        (None, 1.0, "SS"),
    ],
)
def test_who_will_go_on_does_not_wait_for_ever(look: tuple[int | None, float, str]) -> None:
    resting = [(500, 1.0, "SS")] * (LOOKS - 1)
    assert first_for_ever(*resting, look, *resting) is None


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    def run(script: str, wall: float | None = 20.0) -> subprocess.Popen[str]:
        scratch = tmp_path / "boot"
        scratch.mkdir()
        (scratch / "sub").mkdir()
        (scratch / "sub" / "file").touch()
        job = {
            "command": ["/bin/sh", "-c", script],
            "environment": {"PATH": os.environ["PATH"]},
            "folder": str(tmp_path),
            "console": str(tmp_path / "console.log"),
            "scratch": str(scratch),
            "cpu": min(os.sched_getaffinity(0)),
            "clock": None,
            "budget": {"wall": wall, "stall": 1.0, "guest": None, "disk": 1 << 20, "processes": 20},
            "memory": None,
            "containment": None,
            "terminal": None,
            "temporary": False,
            "alone": True,
            "looks": False,
        }
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", supervise.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        return process

    return run


def report(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    assert process.stdin is not None
    with process:
        plain: dict[str, Any] = json.loads(process.stdout.readline())
    return plain


def pids(folder: Path, count: int) -> list[int]:
    """The process numbers that the "guest" wrote down, once there are `count`."""
    for _ in range(200):
        found = (folder / "pids").read_text().split() if (folder / "pids").exists() else []
        if len(found) == count:
            return [int(pid) for pid in found]
        time.sleep(0.02)
    raise AssertionError("the guest did not start")


def gone(pid: int) -> bool:
    """Within two seconds."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_output_and_status_come_back(start: Start, tmp_path: Path) -> None:
    left = {"status": 3, "guest_ns": 5, "error": 0}
    end = report(start(f"echo hello; echo '{json.dumps(left)}' > boot/status"))
    assert (end["reason"], end["signal"], end["status"]) == ("exit", None, left)
    assert (tmp_path / "console.log").read_text() == "hello\n"
    assert not (tmp_path / "boot").exists()


def test_a_killed_guest_is_told_apart(start: Start) -> None:
    end = report(start("kill -9 $$"))
    assert (end["reason"], end["signal"], end["status"]) == ("exit", signal.SIGKILL, None)


def test_the_wall_clock_budget_ends_it_with_all_its_processes(start: Start, tmp_path: Path) -> None:
    process = start("sleep 60 & echo $! $$ > pids; wait", wall=0.5)
    children = pids(tmp_path, 2)
    assert report(process)["reason"] == "wall"
    assert all(map(gone, children))


NO_STATUS = ["", "[]", "3", '{"status": 3}', '{"status": [], "guest_ns": 0, "error": 0}', "[" * 999]


@pytest.mark.parametrize("status", NO_STATUS)
def test_a_status_that_is_none_is_none(start: Start, status: str) -> None:
    assert report(start(f"echo '{status}' > boot/status"))["status"] is None


def test_files_and_processes_have_a_budget(start: Start, tmp_path: Path) -> None:
    assert report(start("mkdir deep; head -c 2000000 /dev/zero > deep/file; sleep 60"))["reason"] == "disk"
    shutil.rmtree(tmp_path / "deep")
    many = "for _ in $(seq 30); do sleep 60 & done; wait"
    assert report(start(many))["reason"] == "processes"


def test_a_link_in_place_of_its_folder_leads_nowhere(start: Start, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    report(start("mv boot elsewhere; ln -s kept boot"))
    assert (kept / "file").exists()
    assert not (tmp_path / "boot").is_symlink()


ORPHAN = "(setsid sleep 60 & echo $! > pids); sleep 60 & echo $! $$ >> pids; wait"


def test_the_end_of_its_input_ends_it(start: Start, tmp_path: Path) -> None:
    process = start(ORPHAN)
    children = pids(tmp_path, 3)
    assert process.stdin is not None
    with process:
        process.stdin.close()
        assert process.wait(5) == 0
    assert all(map(gone, children))
    assert not (tmp_path / "boot").exists()


def test_sigterm_ends_it_cleanly(start: Start, tmp_path: Path) -> None:
    process = start(ORPHAN)
    children = pids(tmp_path, 3)
    process.terminate()
    assert report(process)["reason"] == "abandoned"
    assert all(map(gone, children))
    assert not (tmp_path / "boot").exists()


def test_a_killed_supervisor_takes_the_guest_with_it(start: Start, tmp_path: Path) -> None:
    process = start("echo $$ > pids; while :; do :; done")
    (guest,) = pids(tmp_path, 1)
    process.kill()
    with process:
        pass
    assert gone(guest)
