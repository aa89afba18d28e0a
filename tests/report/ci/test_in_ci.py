"""What runs the lab in a CI job: the action's steps, and their script, run here on a lab that notes its commands."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[3]
NOTES = '#!/bin/sh\necho "$(basename "$0")" "$@" >>"$NOTES"\n{last}\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of the lab whose `provision` and `lab` only note how they were called."""
    home = tmp_path / "a checkout"
    (home / "tools").mkdir(parents=True)
    (home / ".venv" / "bin").mkdir(parents=True)
    shutil.copy2(ROOT / "tools" / "in-ci", home / "tools" / "in-ci")
    for file, last in ((home / "tools" / "provision", ""), (home / ".venv" / "bin" / "lab", 'exit "${STATUS:-0}"')):
        file.write_text(NOTES.format(last=last))
        file.chmod(0o755)
    return home


def ran(checkout: Path, *command: str, **environment: str) -> tuple[int, list[str]]:
    notes = checkout.parent / "notes"
    notes.write_text("")
    seen = {"PATH": os.environ["PATH"], "NOTES": str(notes), **environment}
    done = subprocess.run(command, env=seen, cwd=checkout.parent, capture_output=True, text=True)
    return done.returncode, notes.read_text().splitlines()


def test_a_job_makes_what_it_needs_and_then_runs(checkout: Path) -> None:
    script = str(checkout / "tools" / "in-ci")
    first = ["provision run", "lab userland build", "lab kernel build"]
    assert ran(checkout, script, "run", "tcp-nodelay") == (0, [*first, "lab run tcp-nodelay"])
    _, notes = ran(checkout, script, "packetdrill", "run", LAB_KERNEL="6.12")
    assert notes == [*first[:2], "lab kernel build 6.12", "lab packetdrill build", "lab packetdrill run"]


def test_a_kernel_that_does_not_build_ends_the_job(checkout: Path) -> None:
    assert ran(checkout, str(checkout / "tools" / "in-ci"), "run", STATUS="3") == (
        3,
        ["provision run", "lab userland build"],
    )


def test_the_actions_step_passes_words_on_and_nothing_to_the_shell(checkout: Path) -> None:
    action = YAML(typ="safe").load(ROOT / "action.yml")
    (step,) = [step for step in action["runs"]["steps"] if "run" in step]
    assert step["shell"] == "bash"
    assert "${{" not in step["run"]  # inputs come by the environment: no expression is ever part of a program
    given = {
        "GITHUB_ACTION_PATH": str(checkout),
        "COMMAND": "packetdrill run tcp_* $(touch bad)",
        "REPORT": "my report.xml",
    }
    assert step["env"].keys() == {"COMMAND", "LAB_KERNEL", "REPORT"}
    (checkout.parent / "tcp_x").touch()
    status, notes = ran(checkout, "bash", "-e", "-o", "pipefail", "-c", step["run"], LAB_KERNEL="", **given)
    assert (status, notes[-1]) == (0, "lab packetdrill run tcp_* $(touch bad) --report junit=my report.xml")
    assert not (checkout.parent / "bad").exists()
