"""A trial whose program leaves what makes no record fails alone: the others of its run, and its store, are whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import LabError
from lab.guest.workload import Program
from lab.machine.kernel import Budget
from lab.record.store import Store
from lab.units import Size
from tests.kinds import Perform

pytestmark = pytest.mark.guest

# Each runs as root of a guest, in /run/lab, which is the trial's folder on the host.
DEEP = """
for each in range(1900):
    os.mkdir("d")
    os.chdir("d")
"""
FAR = """
for each in range(30):
    os.mkdir("n" * 200)
    os.chdir("n" * 200)
while True:
    open(os.urandom(8).hex(), "wb").write(bytes(1 << 20))
"""
SPARSE = """
for each in range(4):
    os.truncate(os.open("out/%d" % each, os.O_CREAT | os.O_WRONLY), 40 << 20)
"""
HOSTILE = [
    ("deep", f"os.chdir('out'){DEEP}", "folders within each other"),
    ("deep beside", DEEP, "folders within each other"),
    ("far", f"os.chdir('out'){FAR}", "a path of .* bytes|folder"),
    ("not text", "open(b'out/\\xff', 'x')", "not UTF-8"),
    ("many", "for each in range(40000): open('out/%d' % each, 'x').close()", "more than 64 MiB to its folder|16384"),
    ("sparse", SPARSE, "more than 64 MiB to its folder"),
    ("a file beside", "open('notes', 'x')", "notes, which does not belong beside out/"),
    ("a folder beside", "os.mkdir('more')", "more, which does not belong beside out/"),
    ("record.json", "os.mkdir('record.json')", "record.json, which does not belong beside out/"),
    ("host.json", "os.mkdir('host.json')", "host.json, which does not belong beside out/"),
    ("trial.json", "os.unlink('trial.json'); os.mkdir('trial.json')", "trial.json, which does not belong beside out/"),
    ("result.json", "os.mkdir('result.json')", "result"),
    ("no out", "os.rename('out', 'away'); open('out', 'x')", "."),
]


@pytest.mark.parametrize(("script", "message"), [each[1:] for each in HOSTILE], ids=[each[0] for each in HOSTILE])
def test_a_trial_that_leaves_what_makes_no_record_fails_alone(
    perform: Perform, tmp_path: Path, script: str, message: str
) -> None:
    program = Program(argv=("python3", "-c", f"import os, sys, time\nos.chdir('/run/lab')\n{script}\n"))
    with pytest.raises(LabError, match=message):
        perform("two-hosts", program, budget=Budget(disk=Size.of("64 MiB")), into=tmp_path)
    good = perform("two-hosts", Program(argv=("true",)), into=tmp_path)
    assert [each.address for each in Store(tmp_path)] == [good.address]
    good.verify()
    assert list((tmp_path / ".staging").iterdir()) == []
