"""A test names the programs of the machine that it starts, and is skipped by that name where one is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import subprocess
import pytest

SHELL = ["sh", "-c", "git --version"]

@pytest.fixture(scope="module")
def shared():
    subprocess.run(["git", "--version"], check=True)

def test_alone(): ...

def test_unnamed():
    subprocess.run(["git", "--version"], check=True)

def test_unnamed_behind_a_shell():
    subprocess.run(SHELL, check=True)

def test_unnamed_in_a_fixture(shared): ...

def test_unnamed_in_what_another_test_has_set_up(shared): ...

@pytest.mark.needs("git")
def test_named(shared):
    subprocess.run(SHELL, check=True)

@pytest.mark.tries("git")
def test_that_passes_without(shared): ...

@pytest.mark.needs("no-such-program", "git")
def test_of_a_machine_that_has_it(): ...
"""
INI = "[pytest]\nmarkers =\n needs: x\n tries: x\n"


@pytest.mark.needs("git")
def test_a_test_that_starts_an_unnamed_program_fails(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(INI)
    options = [
        "-p",
        "tests.conftest",
        "--programs",
        "-rfs",
        "-q",
        "--rootdir",
        tmp_path,
        "--basetemp",
        tmp_path / "base",
    ]
    command = [sys.executable, "-m", "pytest", *map(str, options), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    failed = [line.partition("::")[2].split(" ")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert failed == [
        "test_unnamed",
        "test_unnamed_behind_a_shell",
        "test_unnamed_in_a_fixture",
        "test_unnamed_in_what_another_test_has_set_up",
    ], done.stdout + done.stderr
    assert 'it starts what it does not name: @pytest.mark.needs("git")' in done.stdout
    assert "needs no-such-program of this machine: make setup-host" in done.stdout
