"""docs/reference.md lists what the code has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lab import metric
from lab.guest import middlebox, probe, workload
from lab.spec import queue
from tests.docs.blocks import ROOT

REFERENCE = ROOT / "docs" / "reference.md"


def test_it_is_current(tmp_path: Path) -> None:
    written = subprocess.run(
        [sys.executable, ROOT / "docs" / "site" / "listing.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (written.returncode, written.stderr) == (0, "")
    assert REFERENCE.read_text() == written.stdout, "`make reference` writes it"


def test_it_has_every_name() -> None:
    text = REFERENCE.read_text()
    for names in (probe.__all__, middlebox.__all__, queue.KINDS):
        assert {name for name in names if f"| `{name}` |" not in text} <= {"Probe", "Middlebox"}
    assert {name for name in workload.__all__ if f"| `{name}` |" not in text} <= {"Workload", "WriteStyle"}
    assert "| `bulk_goodput` |" in text
    assert "bulk_goodput" in metric.__all__
    for key in ("hosts", "delay", "burst_loss", "gso_max_segs"):
        assert f"| `{key}` |" in text
