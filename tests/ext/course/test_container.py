"""The container: what it copies is the project alone, what it runs is in it, and what lacks to build it is one line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CONTAINERFILE = (ROOT / "Containerfile").read_text()


def container(folder: Path, *programs: str) -> tuple[int, list[str]]:
    """The exit code and the lines of tools/container where only these programs are, and what /bin/sh needs."""
    place = folder / "bin"
    place.mkdir()
    for name in ("dirname", *programs):
        (place / name).symlink_to(shutil.which(name) or "/bin/false")
    done = subprocess.run(
        ["/bin/sh", str(ROOT / "tools" / "container")], env={"PATH": str(place)}, capture_output=True, text=True
    )
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize(
    ("there", "lacking"), [((), "buildah mmdebstrap"), (("buildah",), "mmdebstrap"), (("mmdebstrap",), "buildah")]
)
def test_what_lacks_is_one_line_with_the_cure(tmp_path: Path, there: tuple[str, ...], lacking: str) -> None:
    assert container(tmp_path, *there) == (
        3,
        [f"container: this machine lacks {lacking}: run `sudo apt-get install {lacking}`"],
    )


def test_what_it_runs_is_in_the_project() -> None:
    steps = re.findall(r"^(?:RUN|    &&) ([\w./-]+)(?: ([\w-]+))?(?: ([\w-]+))?", CONTAINERFILE, re.MULTILINE)
    programs = [program for program, *_ in steps if "/" in program and not program.startswith(".venv/")]
    assert programs == ["tools/provision"]
    assert all(os.access(ROOT / program, os.X_OK) for program in programs)
    assert [words for program, *words in steps if program == ".venv/bin/lab"] == [
        ["userland", "build"],
        ["kernel", "build"],
    ], "the same two steps as make's"


def test_nothing_that_is_made_here_is_copied() -> None:
    """Docker reads its own name of the same list. A result or a .venv of this machine does not belong in an image."""
    ignored = (ROOT / ".containerignore").read_text().splitlines()
    assert (ROOT / ".dockerignore").resolve() == (ROOT / ".containerignore").resolve()
    made = {line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line.startswith("/")}
    assert made <= set(ignored)


def test_an_editor_builds_the_same_container() -> None:
    text = (ROOT / ".devcontainer" / "devcontainer.json").read_text()
    declared = json.loads("".join(line for line in text.splitlines() if not line.startswith("//")))
    built = (ROOT / ".devcontainer" / declared["build"]["dockerfile"]).resolve()
    assert built == ROOT / "Containerfile"
    assert f"USER {declared['remoteUser']}\n" in CONTAINERFILE
    assert os.access(ROOT / declared["postCreateCommand"].split()[0], os.X_OK)
