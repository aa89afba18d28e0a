"""The guests' code stays while a run uses it, and goes once nobody has for a week."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from lab.runner.code import WEEK, _forget

HOLDS = """
import sys
from pathlib import Path
from lab.runner.code import _held
print(_held(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


def copy(home: Path, name: str, age: float) -> Path:
    folder = home / name
    (folder / "code").mkdir(parents=True)
    os.utime(folder, (time.time() - age, time.time() - age))
    return folder


def test_what_nobody_used_for_a_week_goes(tmp_path: Path) -> None:
    old, new = copy(tmp_path, "aa", WEEK + 60), copy(tmp_path, "bb", WEEK - 60)
    _forget(tmp_path)
    assert (old.exists(), new.exists()) == (False, True)


def test_what_a_run_holds_stays_though_the_date_jumps(tmp_path: Path) -> None:
    held = copy(tmp_path, "aa", 10 * WEEK)
    run = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(held)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "True\n"
    _forget(tmp_path)
    assert (held / "code").is_dir()
    run.communicate("")
    _forget(tmp_path)
    assert not held.exists()
