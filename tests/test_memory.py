"""The files of `make check` are in memory if there is room, and otherwise where pytest has them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import memory

PROJECT = Path(__file__).parents[1]
TESTS = """
def test_it(tmp_path_factory):
    print(tmp_path_factory.getbasetemp())
"""
SMALL = os.statvfs_result((4096, 4096, 16384, 16384, 16384, 0, 0, 0, 0, 255))  # 64 MiB, as in a container
LARGE = os.statvfs_result((4096, 4096, 1 << 20, 1 << 20, 1 << 20, 0, 0, 0, 0, 255))
NO_PROGRAMS = os.statvfs_result((4096, 4096, 1 << 20, 1 << 20, 1 << 20, 0, 0, 0, os.ST_NOEXEC, 255))


@pytest.mark.parametrize(("found", "expected"), [(SMALL, False), (LARGE, True), (NO_PROGRAMS, False)])
def test_a_small_memory_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: os.statvfs_result, expected: bool
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: found)
    assert memory.has_room(tmp_path) is expected


def test_a_machine_may_have_no_such_folder(tmp_path: Path) -> None:
    assert not memory.has_room(tmp_path / "shm")


@pytest.mark.long
@pytest.mark.skipif(not memory.has_room(), reason="this machine has no room in memory")
def test_files_of_tests_are_there_and_go_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntmp_path_retention_policy = failed\n")
    options = ["-p", "tests.conftest", "--in-memory", "-s", "-q", "--rootdir", str(tmp_path), str(tmp_path)]
    env = {name: value for name, value in os.environ.items() if name != memory.ROOT}
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=PROJECT, env=env, capture_output=True, text=True)
    (used,) = (Path(line.strip(".")) for line in done.stdout.splitlines() if line.startswith("/"))
    assert used.is_relative_to(memory.MEMORY)
    assert not used.exists()
