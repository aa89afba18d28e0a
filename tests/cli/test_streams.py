"""Whatever the standard streams are, a command does its work and ends as it always does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kinds import Type

LAB = Path(sys.executable).with_name("lab")
KNOWN = "asymmetric-mtu/mss-advertised"


def run(tmp_path: Path, shell: str, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **environment}
    return subprocess.run(
        ["sh", "-c", shell, LAB], env=environment, cwd=tmp_path, capture_output=True, text=True, errors="replace"
    )


@pytest.mark.parametrize(
    "closed", ["<&- >&- 2>&-", *(pytest.param(each, marks=pytest.mark.long) for each in ("<&-", ">&-", "2>&-"))]
)
def test_a_closed_stream_is_one_that_nobody_reads(tmp_path: Path, closed: str) -> None:
    done = run(tmp_path, f'"$0" new art/first {closed}; echo $?')
    assert done.stdout.splitlines()[-1] == "0", done
    assert "Traceback" not in done.stderr
    assert (tmp_path / "experiments" / "art" / "first.py").is_file()


@pytest.mark.parametrize(
    "closed", [">&- 2>&-", *(pytest.param(each, marks=pytest.mark.long) for each in (">&-", "2>&-"))]
)
def test_an_error_ends_with_its_code_where_nobody_reads_it(tmp_path: Path, closed: str) -> None:
    done = run(tmp_path, f'"$0" schema {closed}; "$0" show no/such {closed}; echo $?')
    assert done.stdout.splitlines()[-1] == "2", done
    assert "Traceback" not in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
def test_a_character_that_the_encoding_lacks_is_shown_as_its_number(tmp_path: Path, encoding: str) -> None:
    """This claim's sentence and figures have such characters."""
    done = run(tmp_path, f'"$0" show {KNOWN}', PYTHONIOENCODING=encoding)
    assert (done.returncode, "Traceback" in done.stderr) in ((0, False), (1, False), (3, False)), done.stderr
    assert run(tmp_path, '"$0" check weird-→.yaml', PYTHONIOENCODING=encoding).returncode == 2


LONG = "x" * 300
WRONG = {
    f"new {LONG}/first": "is not a claim's name",
    f"new art/{LONG}": "is not a claim's name",
    f"check {LONG}": "",
    f"show {LONG}": "the name is too long; choose a shorter one",
    f"verify {LONG}": "the name is too long; choose a shorter one",
    f"watch {LONG}": "the name is too long; choose a shorter one",
    f"compare {LONG} file": "the name is too long; choose a shorter one",
    f"run {KNOWN} --results {LONG}": "the name is too long; choose a shorter one",
    f"run {KNOWN} --results file": "file is a file",
    "clean --results file": "file is a file, not a store of records",
    "report --results file -o out": "file is a file, not a store of records",
    "store gc --older-than 1e300": "--older-than 1e+300 is too large; use at most 999,999,999 days",
    f"run {KNOWN} --seeds 1-1000000000": "at most 10,000 seeds",
    f"run {KNOWN} --seeds 1-100000000000000000000": "at most 10,000 seeds",
    f"run {KNOWN} --seeds 100000000000000000000": "at most 10,000 seeds",
    f"run {KNOWN} --shard 1/100000000000000000000": "write its number and the total",
    f"baseline save {LONG} {KNOWN}": "",
}


@pytest.mark.parametrize(("typed", "said"), WRONG.items(), ids=[each.replace(LONG, "LONG") for each in WRONG])
def test_what_cannot_be_meant_is_one_message(tmp_path: Path, type_here: Type, typed: str, said: str) -> None:
    (tmp_path / "file").touch()
    done = type_here(f"lab {typed}")
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr
