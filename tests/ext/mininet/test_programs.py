"""The programs that run in a script's guest, without a guest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[3] / "lab" / "ext" / "mininet" / "programs"


@pytest.mark.parametrize(
    ("program", "arguments", "exported"),
    [
        ("ofdatapath", ["-i", "eth0"], {"listen": "punix:/nowhere"}),
        ("ofprotocol", ["--fail=closed"], {}),
        ("dpctl", [], {}),
        ("dpctl", ["show"], {"switch": "unix:/nowhere"}),
        ("dpctl", ["unix:/nowhere"], {}),
    ],
)
def test_too_few_arguments_give_a_usage_line(program: str, arguments: list[str], exported: dict[str, str]) -> None:
    text = (PROGRAMS / program).read_text().replace("/run/bin/", f"{PROGRAMS}/")
    answer = subprocess.run(
        ["sh", "-c", text, program, *arguments], env=exported, capture_output=True, text=True, timeout=10, check=False
    )
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"usage: {program} ")


def test_the_recorder_opens_as_many_files_as_it_may() -> None:
    """Each host's capture has two, and a process may open 1,024 at first."""
    text = "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (64, 96)); import os; os.setns = None; "
    text += "from lab.ext.mininet import recorder; recorder.open_many(); print(r.getrlimit(r.RLIMIT_NOFILE))"
    path = os.pathsep.join(filter(None, sys.path))
    answer = subprocess.run(
        [sys.executable, "-c", text], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert answer.stdout == "(96, 96)\n"
