"""The programs that stand in for the OpenFlow reference switch refuse arguments that are not enough."""

from __future__ import annotations

import subprocess
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
