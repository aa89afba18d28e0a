"""What others left is walked, read and removed within bounds, and their texts lose what a terminal obeys."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab import cli
from lab.base import foreign, terminal
from lab.base.foreign import FileBounds, FolderEntry, TooLarge, Unfit
from lab.errors import LabError
from lab.spec.shipped import PACKAGE


def deep(top: Path, levels: int, name: str = "d") -> None:
    """Make folders within each other, far beyond the longest path that a system call takes."""
    handle = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=handle)
        below = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(os.open("last", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)


@pytest.fixture
def removed(tmp_path: Path) -> Iterator[Path]:
    """A folder that goes at the end: whoever removes the folders of tests does so by recursion."""
    (tmp_path / "top").mkdir()
    yield tmp_path / "top"
    foreign.remove(tmp_path / "top")


def walked(top: Path, **bounds: int) -> list[FolderEntry]:
    return list(foreign.walk(top, FileBounds(**bounds)))


def test_a_walk_yields_a_folder_before_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "b" / "c" / "d").write_text("x")
    (tmp_path / "a").write_text("x")
    (tmp_path / "b" / "link").symlink_to("/etc")
    assert walked(tmp_path) == [
        ("a", "file"),
        ("b", "folder"),
        ("b/c", "folder"),
        ("b/c/d", "file"),
        ("b/link", "other"),
    ]


def test_no_depth_ends_a_walk_but_its_bound(removed: Path) -> None:
    deep(removed, 1900)
    with pytest.raises(Unfit, match="more than 32 folders within each other"):
        walked(removed)
    assert len(list(Path("/proc/self/fd").iterdir())) < 100, "no folder is left open"


def test_a_path_is_bounded(removed: Path) -> None:
    deep(removed, 20, "n" * 250)
    with pytest.raises(Unfit, match=r"a path of 1254 bytes, n+\.\.\.; at most 1024 are kept"):
        walked(removed)


def test_a_name_is_text(tmp_path: Path) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/\xff\x1b[2J")).touch()
    with pytest.raises(Unfit, match="not UTF-8, \ufffd\ufffd\\[2J"):
        walked(tmp_path)


def test_files_are_counted_by_number_and_by_both_sizes(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).touch()
    with pytest.raises(Unfit, match="more than 2 files"):
        walked(tmp_path, files=2)
    with pytest.raises(TooLarge):
        walked(tmp_path, size=3 * foreign.FILE - 1)
    assert len(walked(tmp_path, size=3 * foreign.FILE)) == 3
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooLarge):
        walked(tmp_path)


def test_what_is_read_is_a_file_and_short(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1234")
    assert foreign.read(tmp_path / "file", 4) == b"1234"
    with pytest.raises(Unfit, match="more than 3 bytes"):
        foreign.read(tmp_path / "file", 3)
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    for name, what in (("link", "a link"), ("pipe", "no file"), (".", "no file")):
        with pytest.raises(Unfit, match=what):
            foreign.read(tmp_path / name, 4)
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(8 << 30)
    with pytest.raises(Unfit):
        foreign.read(tmp_path / "sparse", 1 << 20)
    with pytest.raises(FileNotFoundError):
        foreign.read(tmp_path / "absent", 4)


def test_the_end_of_a_file_is_text_or_nothing(tmp_path: Path) -> None:
    file = tmp_path / "console.log"
    assert foreign.end(file, 4) == ""
    file.write_bytes(b"first\n\xfflast")
    assert foreign.end(file, 5) == "\ufffdlast"
    assert foreign.end(file, 100) == "first\n\ufffdlast"
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "."):
        assert foreign.end(tmp_path / name, 4) == "", name


def test_all_of_a_folder_is_removed_however_deep_and_nothing_else(tmp_path: Path) -> None:
    outside, top = tmp_path / "outside", tmp_path / "top"
    outside.mkdir()
    (outside / "kept").touch()
    top.mkdir()
    deep(top, 2000)
    (top / "link").symlink_to(outside)
    os.mkfifo(top / "pipe")
    (top / "closed" / "within").mkdir(parents=True)
    (top / "closed").chmod(0)
    assert sys.getrecursionlimit() < 2000
    foreign.remove(top)
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]
    top.symlink_to(outside)
    foreign.remove(top)
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]
    assert (outside / "kept").exists()
    foreign.remove(tmp_path / "absent")


ACTS = ["\x1b]52;c;cm0gLXJm\x07", "\x1b[2J", "\x9b2J", "\r", "\x08", "\u202e", "\udcff", "\x00"]


@pytest.mark.parametrize("sign", ACTS)
def test_what_a_terminal_obeys_does_not_reach_it(sign: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"out/{sign}name\tä 中\nnext"
    shown = foreign.printable(text)
    assert shown.endswith("name\tä 中\nnext")
    assert not any(char in shown for char in sign if not char.isprintable())
    terminal.write(text)
    terminal.console(width=80, force_terminal=True, color_system=None).print(f"out/{sign}name", markup=False)
    said = capsys.readouterr().out
    assert said.startswith(f"{shown}\n")
    assert "\x1b]52" not in said
    assert sign not in said


def test_an_error_that_quotes_others_is_cleaned(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["lab", "run"])
    cli._report(LabError("the program's last line was \x1b]52;c;cm0gLXJm\x07"))
    assert capsys.readouterr().err == "lab: the program's last line was \ufffd]52;c;cm0gLXJm\ufffd\n"


def test_all_that_is_printed_passes_the_cleaning() -> None:
    """A page's text is made by a console of its own, and shown by others that clean."""
    package = PACKAGE
    made = [
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if re.search(r"(?<![\w.])Console\(", file.read_text(encoding="utf-8"))
    ]
    assert made == ["report/text.py"]


def test_what_two_threads_remove_at_once_is_gone(tmp_path: Path) -> None:
    for number in range(20):
        top = tmp_path / str(number)
        for name in ("a/b/c", "a/d/e", "f/g/h", "i/j/k"):
            (top / name).mkdir(parents=True)
            (top / name / "file").touch()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(foreign.remove, (top, top)))
        assert not top.exists()
