"""The doctor names, call by call, what a container's profile forbids."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab.ext.doctor.forbidden import forbidden

ROOT = Path(__file__).parents[3]
PROFILE = ROOT / "tests" / "machine" / "kernel" / "locked_down.py"
ASK = """
import json
from lab.ext.doctor import checks as doctor
check = doctor._calls()
print(json.dumps([check.ok, check.detail, check.cure]))
"""


@pytest.mark.parametrize("options", [(), ("--as-podman",)])
def test_the_doctor_names_what_a_containers_profile_forbids(options: tuple[str, ...]) -> None:
    command = [sys.executable, str(PROFILE), *options, sys.executable, "-c", ASK]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    ok, detail, cure = json.loads(done.stdout)
    assert ok is None, "guests start all the same"
    assert detail.startswith("forbidden here: without personality guests keep")
    assert "seccomp=unconfined" in cure


def test_here_nothing_is_forbidden() -> None:
    assert forbidden() == ()
