"""A trial's programs write nothing to the guest's console, which costs a distribution kernel more than TCP does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import lab.guest

GUEST = Path(lab.guest.__file__).parent
STARTS = {f"subprocess.{name}" for name in ("run", "Popen", "call", "check_call")}
OUTPUT = {"stdout", "capture_output"}
TERMINAL = "interactive.py"  # a person's shell has the console on purpose


def inheriting(text: str) -> Iterator[int]:
    """The lines that start a program without saying where its output goes."""
    for node in ast.walk(ast.parse(text)):
        calls = [node] if isinstance(node, ast.Call) and ast.unparse(node.func) in STARTS else []
        yield from (each.lineno for each in calls if not {name.arg for name in each.keywords} & OUTPUT)


def test_no_program_inherits_the_console() -> None:
    files = [each for each in GUEST.rglob("*.py") if each.name != TERMINAL]
    assert len(files) > 50
    assert {str(each): lines for each in files if (lines := list(inheriting(each.read_text())))} == {}


def test_a_start_without_stdout_is_seen() -> None:
    assert list(inheriting("import subprocess\nsubprocess.run(argv, check=True)\n")) == [2]
    assert list(inheriting("subprocess.run(argv, stdout=subprocess.DEVNULL)")) == []
