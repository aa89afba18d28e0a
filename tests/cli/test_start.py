"""What takes long to import, and no guest needs, is not imported before the first guest runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lab.machine.kernel import UmlKernel

PROJECT = Path(__file__).parents[2]
HEAVY = ["http.client", "multiprocessing", "numpy", "rich", "tomllib"]
HEAVY += ["lab.report.ci", "lab.model", "lab.ext.suites.packetdrill.source", "lab.report.html"]
PROGRAM = """
import os, sys
from lab.cli import main
from lab.machine.kernel.guest import Guest

def found(guest, *args, **options):
    print(*(name for name in HEAVY if name in sys.modules), flush=True)
    os._exit(0)

Guest.__init__ = found
main()
"""


@pytest.mark.guest  # it needs the kernel, though none boots
@pytest.mark.parametrize("experiment", ["empty", "bulk-1g"])
def test_a_guest_starts_before_what_judges_it_is_imported(kernel: UmlKernel, tmp_path: Path, experiment: str) -> None:
    program = PROGRAM.replace("HEAVY", repr(HEAVY))
    claim = PROJECT / "bench/experiments" / f"{experiment}.py"
    argv = ["run", str(claim), "--kernel", kernel.id, "--results", str(tmp_path / "results"), "--jobs", "1"]
    done = subprocess.run([sys.executable, "-c", program, *argv], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_metrics_are_named_without_numpy() -> None:
    program = "import sys; from lab import metric; metric.capture_goodput(0, 1); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
