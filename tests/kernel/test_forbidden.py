"""What a container's profile forbids is named, call by call; where nothing is forbidden, nothing is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab.kernel.forbidden import forbidden

PROFILE = Path(__file__).with_name("locked_down.py")
ROOT = Path(__file__).parents[2]
ASK = """
import json
from lab.cli import doctor
check = doctor._calls()
print(json.dumps([check.ok, check.detail, check.cure]))
"""


def test_here_nothing_is_forbidden() -> None:
    assert forbidden() == ()


@pytest.mark.parametrize("options", [(), ("--as-podman",)])
def test_the_doctor_names_what_a_containers_profile_forbids(options: tuple[str, ...]) -> None:
    command = [sys.executable, str(PROFILE), *options, sys.executable, "-c", ASK]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    ok, detail, cure = json.loads(done.stdout)
    assert ok is None, "guests start all the same"
    assert detail.startswith("forbidden here: without personality guests keep")
    assert "seccomp=unconfined" in cure
