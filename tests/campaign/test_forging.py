"""A little of what `make campaign records` does, and that it finds what it looks for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaign import forging
from tests.campaign.__main__ import CASES as CAMPAIGN

ROOT = Path(__file__).parents[2]
CASES = 100


@pytest.mark.long
def test_no_forged_record_reaches_out_or_stops_the_others() -> None:
    """In a process of its own, because the bound on memory is one of a whole process."""
    program = [sys.executable, "-m", "tests.campaign", "records", "--scale", str(CASES / CAMPAIGN["records"])]
    run = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"records: {CASES} cases" in run.stdout


def test_what_is_written_outside_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inside").mkdir()
    monkeypatch.setattr(forging, "_take", lambda *_: (tmp_path / "outside").write_text("x"))
    assert "is outside" in forging.forged("0", 1, tmp_path / "inside")


def test_a_traceback_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forging, "_take", lambda *_: {"y": 1}["x"])
    assert "KeyError" in forging.forged("0", 1, tmp_path)
