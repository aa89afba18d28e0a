"""The Vagrantfile, as Vagrant itself reads it. Which box there is, and what runs in it, `make test-vm` is about."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

pytestmark = [pytest.mark.needs("vagrant"), pytest.mark.long]


def validate(folder: Path, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """With providers as far as they are installed here."""
    return subprocess.run(
        ["vagrant", "validate", "--ignore-provider"],
        env={**os.environ, "VAGRANT_HOME": str(home), "VAGRANT_CWD": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_vagrant_finds_it_valid(tmp_path: Path) -> None:
    done = validate(ROOT, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "validated successfully" in done.stdout


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("config.vm.hostname", "config.vm.hostnam"), ('guest: 8888, host: PORT, host_ip: "127.0.0.1"', "guest: 8888")],
)
def test_a_mistake_would_be_found(tmp_path: Path, right: str, wrong: str) -> None:
    text = (ROOT / "Vagrantfile").read_text()
    assert right in text
    (tmp_path / "Vagrantfile").write_text(text.replace(right, wrong))
    assert validate(tmp_path, tmp_path / "home").returncode != 0


@pytest.mark.skipif(shutil.which("rsync") is None, reason="no rsync, by which Vagrant copies")
def test_what_is_copied_is_the_project_but_for_what_was_made_in_it(tmp_path: Path) -> None:
    (folders,) = re.findall(
        r"%w\[([^]]*)\]\.map \{ \|folder\| \"/#\{folder\}/\" \}", (ROOT / "Vagrantfile").read_text()
    )
    for folder in folders.split():
        (tmp_path / "from" / folder).mkdir(parents=True)
        (tmp_path / "from" / folder / "made").touch()
        (tmp_path / "from" / "lab" / folder).mkdir(parents=True)
        (tmp_path / "from" / "lab" / folder / "kept").touch()
    excluded = [f"--exclude=/{folder}/" for folder in folders.split()]
    subprocess.run(["rsync", "-a", *excluded, f"{tmp_path}/from/", tmp_path / "to"], check=True)
    copied = {path.name for path in (tmp_path / "to").rglob("*") if path.is_file()}
    assert copied == {"kept"}
    assert len(list((tmp_path / "to" / "lab").iterdir())) == len(folders.split())


def test_another_port_is_a_number(tmp_path: Path) -> None:
    assert validate(ROOT, tmp_path, REPLAB_PORT="9000").returncode == 0
    assert validate(ROOT, tmp_path, REPLAB_PORT="http").returncode != 0
