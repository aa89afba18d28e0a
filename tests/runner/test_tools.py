"""The tools of a trial are found as its guest finds them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lab
from lab.runner import tools


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


def test_an_address_covers_all_that_a_guest_imports(tmp_path: Path) -> None:
    program = "import sys, lab.guest.perform; print(*(m.__file__ for n, m in sys.modules.items() if n[:4] == 'lab.'))"
    root = Path(lab.__file__).parent
    done = subprocess.run([sys.executable, "-c", program], cwd=root.parent, capture_output=True, text=True, check=True)
    imported = [Path(file).relative_to(root) for file in done.stdout.split()]
    copy = tmp_path / "lab"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for file in [file for file in imported if file.name != "__init__.py"]:
        source = (copy / file).read_text()
        (copy / file).write_text(f"{source}\nCHANGED = 1\n")
        assert tools.own_code.__wrapped__(copy) != tools.own_code(), file
        (copy / file).write_text(source)


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
def test_an_address_knows_what_guest_code_means(tmp_path: Path, file: str, old: str, new: str, is_same: bool) -> None:
    copy = tmp_path / "lab"
    shutil.copytree(Path(lab.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    source = (copy / file).read_text()
    assert old in source
    changed = source.replace(f"\n{old}", f"\n{new}", 1) if old.startswith("import") else source.replace(old, new, 1)
    assert changed != source
    (copy / file).write_text(changed)
    assert (tools.own_code(copy) == tools.own_code()) is is_same
