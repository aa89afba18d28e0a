"""A script gets the files of its folder that it uses, and only those decide its address."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from lab.errors import InputError
from lab.ext.mininet.packing import MOST_BYTES, MOST_FILES, pack


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script that imports modules, whose text names a file and a folder, beside files that it does not use."""
    (tmp_path / "net.py").write_text("import plots\nfrom tools import draw\nhost.cmd('cat data.csv; ls pages')\n")
    (tmp_path / "plots.py").write_text("plots = other = 'rtt.png'\n")
    for folder in ("tools", "pages", "results", "unrelated"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tools" / "__init__.py").write_text("")
    (tmp_path / "tools" / "draw.py").write_text("")
    (tmp_path / "pages" / "index.html").write_text("<p>")
    (tmp_path / "data.csv").write_text("1,2\n")
    (tmp_path / "other.txt").write_text("of no use\n")
    (tmp_path / "unrelated" / "data.csv").write_text("of no use\n")
    (tmp_path / "results" / "rtt.png").write_text("of an earlier run\n")
    return tmp_path / "net.py"


def test_modules_and_named_files_come_along(script: Path) -> None:
    packed = pack(script)
    assert packed.files == ("data.csv", "net.py", "pages/index.html", "plots.py", "tools/__init__.py", "tools/draw.py")
    with tarfile.open(fileobj=io.BytesIO(packed.archive)) as tar:
        assert tar.getnames() == list(packed.files)


def test_outputs_of_earlier_runs_stay_outside(script: Path) -> None:
    script.write_text(script.read_text() + "save('results/rtt.png')\n")
    assert "results/rtt.png" in pack(script).files
    assert pack(script, [script.parent / "results"]).files == (
        "data.csv", "net.py", "pages/index.html", "plots.py", "tools/__init__.py", "tools/draw.py"
    )  # fmt: skip


def test_an_unused_file_changes_nothing(script: Path) -> None:
    before = pack(script)
    (script.parent / "other.txt").write_text("something else\n")
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


def test_an_experiment_is_for_lab_run(tmp_path: Path) -> None:
    (tmp_path / "claim.py").write_text("from lab import Experiment\n\nEXPERIMENT = Experiment()\n")
    with pytest.raises(
        InputError, match=r"claim\.py is an experiment, not a Mininet script; `lab run .*claim\.py` runs it"
    ):
        pack(tmp_path / "claim.py")


def test_a_containerlab_file_is_for_lab_import(tmp_path: Path) -> None:
    (tmp_path / "x.clab.yml").touch()
    with pytest.raises(InputError, match=r"x\.clab\.yml is not a script; `lab import .*x\.clab\.yml` reads"):
        pack(tmp_path / "x.clab.yml")


def test_what_a_guest_cannot_get_is_said_with_what_names_it(script: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        pack(script.with_name("nothing.py"))
    for number in range(MOST_FILES + 1):
        (script.parent / "pages" / f"{number}.txt").touch()
    with pytest.raises(InputError, match="pages has more than 1,000 files, and the script names it"):
        pack(script)
    (script.parent / "data.csv").write_bytes(bytes(MOST_BYTES + 1))
    script.write_text("open('data.csv')\n")
    with pytest.raises(InputError, match=r"data\.csv, which net\.py names, is more than 4194304 bytes"):
        pack(script)
