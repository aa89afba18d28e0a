"""What tools/provision-vm does before it needs a machine of its own: `make test-vm` runs all of it in one."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose packages cannot be installed: what comes after that is not reached."""
    project = tmp_path / "shared folder"
    for name in ("tools/provision-vm", "README.md"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, project / name)
    stub = project / "tools" / "provision"
    stub.write_text("#!/bin/sh\nexit 7\n")
    stub.chmod(0o755)
    made = (".venv/bin/python", ".git/HEAD", "results/ab/record.json", "dist/lab.whl", "site/index.html")
    for name in (*made, "notebooks/build/kept.txt"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("of the computer outside")
    return project


def provision(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(project.parent / "home")}
    argv = [str(project / "tools" / "provision-vm"), *arguments]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60)


def test_the_project_is_copied_without_what_was_made_in_it(project: Path) -> None:
    assert provision(project).returncode == 7
    copy = project.parent / "home" / "replab"
    found = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()}
    assert found == {"README.md", "tools/provision", "tools/provision-vm", "notebooks/build/kept.txt"}
    assert os.access(copy / "tools" / "provision", os.X_OK)


def test_what_students_wrote_stays(project: Path) -> None:
    provision(project)
    copy = project.parent / "home" / "replab"
    (copy / "README.md").write_text("mine")
    (copy / "own.txt").write_text("mine")
    (project / "tools" / "provision").write_text("#!/bin/sh\nexit 8\n")
    os.utime(project / "tools" / "provision", (2**31 - 1, 2**31 - 1))
    assert provision(project).returncode == 8, "what is newer outside is taken over"
    assert (copy / "README.md").read_text() == (copy / "own.txt").read_text() == "mine"


def test_a_bundle_in_the_folder_asks_for_little_else(project: Path) -> None:
    """Of the distribution, Python alone; and it is no part of the copy that students work in."""
    (project / "tools" / "provision").write_text('#!/bin/sh\necho "provision $1" >&2\nexit 7\n')
    assert provision(project).stderr.splitlines()[-1] == "provision host"
    (project / "claims.tar.zst").write_text("a bundle")
    assert provision(project).stderr.splitlines()[-1] == "provision base"
    assert provision(project, "given").stderr.splitlines()[-1] == "provision host"
    assert not (project.parent / "home" / "replab" / "claims.tar.zst").exists()


def test_a_word_that_it_does_not_know_is_said(project: Path) -> None:
    done = provision(project, "borrowed")
    assert (done.returncode, done.stderr) == (2, "provision-vm: 'borrowed' is neither build nor given\n")
    assert not (project.parent / "home").exists()
