"""What a cache keeps stays while a process uses it, and goes once nobody has for a week."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.base.building import WEEK, forget, hold
from lab.machine.kernel.vm import root

HOLDS = """
import sys
from pathlib import Path
from lab.base.building import hold
print(hold(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""
Make = Callable[[Path, float], Path]


def folder(place: Path, age: float) -> Path:
    (place / "code").mkdir(parents=True)
    return _aged(place, age)


def file(place: Path, age: float) -> Path:
    place.write_text("packed")
    return _aged(place, age)


def _aged(place: Path, age: float) -> Path:
    os.utime(place, (time.time() - age, time.time() - age))
    return place


kinds = pytest.mark.parametrize("make", [folder, file])


@kinds
def test_what_nobody_used_for_a_week_goes(tmp_path: Path, make: Make) -> None:
    old, new = make(tmp_path / "aa", WEEK + 60), make(tmp_path / "bb", WEEK - 60)
    forget([old, new, tmp_path / "gone"])
    assert (old.exists(), new.exists()) == (False, True)


@kinds
def test_what_a_process_holds_stays_though_the_date_jumps(tmp_path: Path, make: Make) -> None:
    held = make(tmp_path / "aa", 10 * WEEK)
    run = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(held)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "True\n"
    forget([held])
    assert held.exists()
    run.communicate("")
    forget([held])
    assert not held.exists()


def test_what_is_not_there_is_not_held(tmp_path: Path) -> None:
    assert not hold(tmp_path / "aa")


def test_the_files_of_guests_of_another_run_stay_whatever_their_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lab whose machine has changed packs its files anew, while a run of the machine as it was goes on."""
    tool = tmp_path / "tool"
    tool.write_text("one")
    monkeypatch.setattr(root, "files", lambda: [str(tool)])
    monkeypatch.setattr(root, "_lab", lambda: iter(()))
    home = tmp_path / "home"
    before = root.archive.__wrapped__(home)
    os.utime(before, (0, 0))
    tool.write_text("two, longer")
    after = root.archive.__wrapped__(home)
    assert after != before
    assert before.exists()
