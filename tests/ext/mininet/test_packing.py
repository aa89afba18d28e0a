"""A script gets the files of its folder that it uses, and only those decide its address."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from lab.errors import InputError
from lab.ext.mininet.packing import MOST_FILES, pack


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script that imports a module, whose text names a file, beside files that it does not use."""
    (tmp_path / "net.py").write_text("import plots\nfrom tools import draw\nprint(plots.name)\n")
    (tmp_path / "plots.py").write_text("name = 'data.csv'\n")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").write_text("")
    (tmp_path / "tools" / "draw.py").write_text("")
    (tmp_path / "data.csv").write_text("1,2\n")
    (tmp_path / "other.txt").write_text("of no use\n")
    return tmp_path / "net.py"


def test_modules_and_named_files_come_along(script: Path) -> None:
    packed = pack(script)
    assert packed.files == ("data.csv", "net.py", "plots.py", "tools/__init__.py", "tools/draw.py")
    with tarfile.open(fileobj=io.BytesIO(packed.archive)) as tar:
        assert tar.getnames() == list(packed.files)


def test_an_unused_file_changes_nothing(script: Path) -> None:
    before = pack(script)
    (script.parent / "other.txt").write_text("something else\n")
    (script.parent / "rtt.png").write_bytes(b"\x89PNG")
    script.touch()
    assert pack(script) == before


def test_a_used_file_changes_the_archive(script: Path) -> None:
    before = pack(script)
    (script.parent / "data.csv").write_text("1,3\n")
    assert pack(script).archive != before.archive


def test_a_link_stays_outside(script: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret"
    secret.write_text("not for guests\n")
    (script.parent / "data.csv").unlink()
    (script.parent / "data.csv").symlink_to(secret)
    assert "data.csv" not in pack(script).files


@pytest.mark.parametrize("text", ["print 'two'\n", "try:\n    pass\nexcept IOError, error:\n    pass\n"])
def test_python_2_is_refused_at_its_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "old.py").write_text(text)
    with pytest.raises(InputError, match=r"old\.py:\d+: this is Python 2.*2to3"):
        pack(tmp_path / "old.py")


def test_a_missing_script_and_a_crowded_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such script"):
        pack(tmp_path / "nothing.py")
    (tmp_path / "net.py").write_text("")
    for number in range(MOST_FILES):
        (tmp_path / f"{number}.txt").touch()
    with pytest.raises(InputError, match="put the script into a folder of its own"):
        pack(tmp_path / "net.py")
