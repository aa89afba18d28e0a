"""A little of the fault campaign, and that it finds what is wrong. `make campaign` does all of it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.campaign.mutator import spoilt

ROOT = Path(__file__).parents[2]
KINDS = ("a.json", "a.yaml", "a.py", "a.csv", "a.pcap", "a.zst", "a.ipynb")


@given(st.binary(max_size=300), st.sampled_from(KINDS), st.integers(0, 2**32))
def test_a_seed_always_spoils_a_file_in_the_same_way(data: bytes, name: str, seed: int) -> None:
    first, again = (spoilt(data, random.Random(seed), name) for _ in range(2))
    assert first == again != data


def test_json_is_spoilt_within_its_form_too() -> None:
    plain = json.dumps({"a": [1, {"b": "c"}], "d": None}).encode()
    found = {spoilt(plain, random.Random(seed), "a.json") for seed in range(200)}
    parsed = 0
    for each in found:
        try:
            json.loads(each)
            parsed += 1
        except (ValueError, RecursionError):
            continue
    assert 20 < parsed < len(found)


# What would be found: each program does what the lab promises not to do.
WRONG = {
    "traceback": "raise KeyError('x')",
    "silence": "sys.exit(2)",
    "code": "print('what?'); sys.exit(17)",
}


def test_what_goes_against_the_promise_is_found() -> None:
    """In a process of its own, since a fork of one with threads is none that we want."""
    program = f"""
import lab.cli, sys
from tests.campaign import isolated
for way, body in {WRONG}.items():
    lab.cli.main = lambda: exec(body)
    found = isolated.attempt(lambda: isolated.typed("list"))
    assert found.wrong, (way, found)
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.long
def test_a_hang_is_found() -> None:
    program = """
import time
from tests.campaign import hanging, isolated
isolated.SECONDS = 1
def spin():
    while True: pass
found = isolated.attempt(spin)
assert "in spin" in found.wrong, found
assert isolated.attempt(lambda: None).wrong == ""
hanging.LOOKS = 4
found = isolated.attempt(lambda: time.sleep(600))
assert "waits" in found.wrong, found
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.long
@pytest.mark.parametrize(("part", "scale"), [("archives", 0.02), ("servers", 0.1)])
def test_a_hundred_strangers(part: str, scale: float) -> None:
    """No guest is needed. The cases are always the same, too."""
    program = [sys.executable, "-m", "tests.campaign", part, "--scale", str(scale), "--seed", "1"]
    run = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.guest
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("parts", "scale"), [(("files",), 0.0012), (("kills",), 0.002), (("together", "clock", "nfs"), 0.02)]
)
def test_a_little_of_the_campaign(parts: tuple[str, ...], scale: float) -> None:
    """Always the same cases, so that a failure is this change's: `make campaign` draws others each time."""
    program = [sys.executable, "-m", "tests.campaign", *parts, "--scale", str(scale), "--seed", "1"]
    run = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
