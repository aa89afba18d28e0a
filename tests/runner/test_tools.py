"""The tools of a trial are found as its guest finds them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lab
from lab.runner import tools

PACKAGE = Path(lab.__file__).parent


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the lab's code. A test that changes a file changes it back."""
    place = tmp_path_factory.mktemp("copy") / "lab"
    return shutil.copytree(PACKAGE, place, ignore=shutil.ignore_patterns("__pycache__"))


def changed(copy: Path, file: str, source: str) -> str:
    """Return the code's hash with this source in a file."""
    before = (copy / file).read_text()
    (copy / file).write_text(source)
    try:
        return tools.own_code.__wrapped__(copy)
    finally:
        (copy / file).write_text(before)


@pytest.mark.needs("iptables", "nft")
def test_an_ordinary_users_path_has_all_that_a_guest_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    found = tools.versions(["iptables", "nft"])
    assert all(found[tool][0].isdigit() or found[tool][0] == "v" for tool in ("iptables", "nft"))


def test_what_is_nowhere_is_missing() -> None:
    with pytest.raises(tools.ToolMissing, match="'no-such-tool' missing on this machine: `make setup-host` installs"):
        tools.versions(["no-such-tool"])


def test_flent_comes_with_the_labs_own_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find_spec", lambda _: None)
    with pytest.raises(tools.ToolMissing, match="'flent' missing on this machine: `make setup` installs"):
        tools.versions(["flent"])


def test_an_address_covers_all_that_a_guest_imports(copy: Path) -> None:
    program = "import sys, lab.guest.perform; print(*(m.__file__ for n, m in sys.modules.items() if n[:4] == 'lab.'))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    imported = [Path(file).relative_to(PACKAGE) for file in done.stdout.split()]
    for file in [str(file) for file in imported if file.name != "__init__.py"]:
        assert changed(copy, file, f"{(copy / file).read_text()}\nCHANGED = 1\n") != tools.own_code(), file


@pytest.mark.parametrize(
    ("file", "old", "new", "is_same"),
    [
        ("guest/workload/bulk.py", "import fcntl\n", "import fcntl  # light\n\n", True),
        ("guest/workload/bulk.py", "class Bulk(", "class Bulk(\n    ", True),
        ("guest/perform.py", '"""Run the trial in `folder`,', '"""Perform it;', True),
        ("units.py", '"""', '"""Of units. ', True),
        ("guest/perform.py", "LATE_NS = 200_000", "LATE_NS = 200000", True),
        ("guest/perform.py", "LATE_NS = 200_000", "LATE_NS = 300_000", False),
        ("guest/fabric/device.py", "import ", "import this\nimport ", False),
        ("metric/capture.py", "import ", "import this\nimport ", True),  # no guest runs it
    ],
)
def test_an_address_knows_what_guest_code_means(copy: Path, file: str, old: str, new: str, is_same: bool) -> None:
    source = (copy / file).read_text()
    assert old in source
    other = source.replace(f"\n{old}", f"\n{new}", 1) if old.startswith("import") else source.replace(old, new, 1)
    assert other != source
    assert (changed(copy, file, other) == tools.own_code()) is is_same
