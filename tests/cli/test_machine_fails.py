"""A machine on which Python cannot load what the command line needs: one message, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MAIN = "import sys; sys.argv = ['lab', 'plan']; from lab.cli import main; main()"


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        ("InterruptedError(4, 'Interrupted system call', 'a/folder')", 3, "lab: a/folder: Interrupted system call: "),
        ("ImportError('a.so: cannot read file data')", 3, "cannot load a package: a.so: cannot read file data\n"),
        ("ImportError('much advice') from ImportError('b.so: I/O')", 3, "cannot load a package: b.so: I/O\n"),
        ("ModuleNotFoundError('No module', name='other')", 3, "needs the package other for this\n"),
        ("ModuleNotFoundError('No module', name='dask_jobqueue')", 3, " -m pip install 'replab[cluster]'\n"),
        ("ModuleNotFoundError('No module', name='msgspec')", 3, " -m pip install 'replab'\n"),
        ("ImportError('cannot import name', name='lab.spec')", 1, "Traceback"),
    ],
)
def test_a_package_that_does_not_load(tmp_path: Path, raised: str, code: int, said: str) -> None:
    (tmp_path / "zstandard.py").write_text(f"raise {raised}\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", MAIN], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert ("Traceback" in done.stderr) == (code == 1)
