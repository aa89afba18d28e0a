"""A bundle starts where no package is installed: what unpacks it needs Python's standard library alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[3]


def test_a_bundle_starts_without_any_package() -> None:
    code = f"import sys; sys.path.insert(0, {str(PROJECT)!r}); import lab.ext.bundle.start"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
