"""A page is written completely or not at all, and a file that cannot be written is one message."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.base import writing
from lab.errors import MachineError
from lab.report import page


def test_a_page_that_fails_leaves_the_earlier_page(tmp_path: Path) -> None:
    file = tmp_path / "new" / "page.html"
    writing.write("first", file)
    with pytest.raises(UnicodeEncodeError):
        writing.write("second \ud800", file)
    assert file.read_text() == "first"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("write", [lambda file: writing.write("text", file), page.require_place])
def test_a_page_without_a_place_is_one_message(write: object, tmp_path: Path) -> None:
    assert callable(write)
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "page.html", Path("/proc/none/page.html")):
        with pytest.raises(MachineError, match=f"cannot write {place}"):
            write(place)


def test_a_full_device_is_one_message() -> None:
    page.require_place(Path("/dev/full"))
    with pytest.raises(MachineError, match="cannot write /dev/full: No space left on device"):
        writing.write("text", Path("/dev/full"))


def test_looking_for_a_place_changes_no_file(tmp_path: Path) -> None:
    page.require_place(tmp_path / "a" / "b.html")
    assert list((tmp_path / "a").iterdir()) == []
    (tmp_path / "page.html").write_text("first")
    page.require_place(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == "first"
