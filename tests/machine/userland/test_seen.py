"""A userland that was read once is read again as soon as the file system shows any change of it."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.base import cache
from lab.machine.userland import seen
from lab.machine.userland.cache import MANIFEST, TREE, Userland
from lab.machine.userland.manifest import manifest
from lab.machine.userland.seen import differing

TOOL = "usr/bin/tool"


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Userland:
    """A userland with two programs, which has not changed for long."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(seen, "_SETTLED_NS", 0)
    tree = tmp_path / "here" / TREE
    (tree / "usr/bin").mkdir(parents=True)
    (tree / TOOL).write_text("#!/bin/sh\n")
    (tree / "usr/bin/other").write_text("#!/bin/sh\n")
    said = manifest(tree).encode()
    (tree.parent / MANIFEST).write_bytes(said)
    time.sleep(0.02)  # a tick of the file system's clock
    return Userland(hashlib.sha256(said).hexdigest()[:16], tree)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The userlands of which every byte was read."""
    found: list[str] = []
    altered = Userland.altered

    def read(userland: Userland) -> list[str]:
        found.append(userland.id)
        return altered(userland)

    monkeypatch.setattr(Userland, "altered", read)
    return found


def test_what_was_read_is_not_read_again(whole: Userland, reads: list[str]) -> None:
    assert [differing(whole) for _ in range(3)] == [[], [], []]
    assert reads == [whole.id]


def keeping_dates(change: Callable[[Path], object]) -> Callable[[Userland], None]:
    """Change a program, and give it the length and the date that it had."""

    def changed(userland: Userland) -> None:
        file = userland.tree / TOOL
        about = file.stat()
        change(file)
        os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
        assert (file.stat().st_size, file.stat().st_mtime_ns) == (about.st_size, about.st_mtime_ns)

    return changed


def replaced(file: Path) -> None:
    (file.parent / "fresh").write_text("#!/bin/zz\n")
    (file.parent / "fresh").chmod(file.stat().st_mode)
    (file.parent / "fresh").replace(file)


def in_place(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.write(b"#!/bin/zz")


def mapped(file: Path) -> None:
    """Write through a descriptor that was open before."""
    handle = os.open(file, os.O_WRONLY)
    os.pwrite(handle, b"z", 3)
    os.close(handle)


def also(path: str, text: str) -> Callable[[Userland], None]:
    def changed(userland: Userland) -> None:
        (userland.tree.parent / path).write_text(text)

    return changed


CHANGES: dict[str, tuple[Callable[[Userland], None], list[str]]] = {
    "in place": (keeping_dates(in_place), [TOOL]),
    "one byte": (keeping_dates(mapped), [TOOL]),
    "another file": (keeping_dates(replaced), [TOOL, "usr/bin"]),  # the folder's date has whole seconds
    "one more": (also(f"{TREE}/usr/bin/more", "x"), ["usr/bin", "usr/bin/more"]),
    "its manifest": (also(MANIFEST, "tool\n"), [MANIFEST]),
    "its mode": (lambda userland: (userland.tree / TOOL).chmod(0o777), [TOOL]),
}


@pytest.mark.parametrize(("change", "paths"), CHANGES.values(), ids=CHANGES.keys())
def test_an_altered_file_of_the_same_length_and_date_is_found(
    whole: Userland, change: Callable[[Userland], None], paths: list[str]
) -> None:
    assert differing(whole) == []
    time.sleep(0.02)
    change(whole)
    assert set(differing(whole)) <= set(paths)
    assert differing(whole)
    assert differing(whole), "what is altered is not remembered as whole"


def test_what_has_just_changed_is_read_again(
    whole: Userland, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write within the same tick of the file system's clock leaves no other date."""
    monkeypatch.setattr(seen, "_SETTLED_NS", 10**12)
    assert [differing(whole), differing(whole)] == [[], []]
    assert reads == [whole.id, whole.id]


def test_a_cache_that_cannot_be_written_changes_nothing(whole: Userland, reads: list[str]) -> None:
    cache.folder("seen").parent.mkdir(parents=True)
    cache.folder("seen").write_text("a file")
    assert [differing(whole), differing(whole)] == [[], []]
    assert reads == [whole.id, whole.id]
