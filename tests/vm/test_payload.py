"""What the machine of `make test-vm` is given."""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

from tests.vm import payload

pytestmark = pytest.mark.skipif(not (payload.ROOT / ".git").exists(), reason="not a checkout: git lists the project")


def test_it_is_given_the_project_and_finished_kernels(tmp_path: Path) -> None:
    for name in ("abc/kernel.json", "abc/linux", ".build-abc/kernel.json", "ccache/object", "lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    with tempfile.TemporaryFile() as disk:
        payload.pack(disk, {"on": "uml host"}, tmp_path)
        disk.seek(0)
        with tarfile.open(fileobj=disk) as tar:
            names = set(tar.getnames())
            settings = tar.extractfile("settings")
            assert settings is not None
            assert settings.read() == b"on='uml host'\n"
            assert tar.getmember("project/tools/provision-vm").mode & 0o111
    assert {name for name in names if name.startswith("kernels/")} == {
        "kernels/abc",
        "kernels/abc/kernel.json",
        "kernels/abc/linux",
    }
    assert {"run", "jupyter.py", "judged.py", "certificates", "project/lab/__init__.py"} <= names
    assert not [name for name in names if name.startswith(("project/.venv", "project/results", "project/.git/"))]


def test_a_machine_without_the_tools_is_told_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.vm"], cwd=payload.ROOT, env={"PATH": ""}, capture_output=True, text=True
    )
    assert done.returncode == 3
    assert done.stderr == "test-vm: sudo apt-get install mmdebstrap fakeroot qemu-system-x86 util-linux uidmap\n"
