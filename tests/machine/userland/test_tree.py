"""Packages are unpacked the same way everywhere, and nothing in them leads out of the folder."""

from __future__ import annotations

import io
import os
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import MachineError
from lab.machine.userland import deb
from lab.machine.userland.manifest import differences, manifest
from lab.machine.userland.tree import Tree
from tests.machine.userland.archive import deb_of, tar_of


def unpacked(folder: Path, *packages: dict[str, str], remove: tuple[str, ...] = ()) -> Path:
    tree = Tree(folder / "tree", remove)
    for number, files in enumerate(packages):
        with tarfile.open(fileobj=io.BytesIO(tar_of(files))) as tar:
            tree.add(f"p{number}", tar)
    tree.merge()
    tree.settle(1_000)
    return folder / "tree"


def test_files_folders_and_links_arrive(tmp_path: Path) -> None:
    files = {
        "./usr/": "",
        "./usr/bin/tool": "#!",
        "./bin/old": "old",
        "./etc/conf": "text",
        "./usr/lib/a": "-> /etc/conf",
        "./usr/lib/b": "-> ../../etc/conf",
        "./usr/lib/c": "=> ./etc/conf",
    }
    tree = unpacked(tmp_path, files)
    assert (tree / "usr/bin/old").read_text() == "old"
    assert (tree / "bin/old").read_text() == "old"
    assert {(tree / f"usr/lib/{name}").read_text() for name in "abc"} == {"text"}
    assert {str((tree / f"usr/lib/{name}").readlink()) for name in "ab"} == {"../../etc/conf"}
    modes = {path: (tree / path).stat().st_mode & 0o7777 for path in ("usr/bin/tool", "etc/conf", "usr")}
    assert modes == {"usr/bin/tool": 0o555, "etc/conf": 0o444, "usr": 0o755}
    assert {path.lstat().st_mtime for path in tree.rglob("*")} == {1_000}


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # an interrupt between open() and what closes it
def test_an_interrupt_is_never_lost(tmp_path: Path) -> None:
    """One comes at each line of Python in turn, as if by Ctrl-C, while a package is unpacked."""
    packed = tar_of({"./etc/conf": "text", "./etc/other": "=> ./etc/conf"})
    lines = heard = 0

    def trace(*_: object) -> Any:
        nonlocal lines
        lines += 1
        if lines == number:
            raise KeyboardInterrupt
        return trace

    for number in range(1, 100_000):
        lines = 0
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            tree = Tree(tmp_path / str(number))
            sys.settrace(trace)
            try:
                tree.add("p", tar)
            except KeyboardInterrupt:
                heard += 1
            finally:
                sys.settrace(None)
        if lines < number:
            break
    assert heard == number - 1 > 100


def test_the_same_packages_make_the_same_tree(tmp_path: Path) -> None:
    umask = os.umask(0o077)
    try:
        (tmp_path / "a").mkdir(mode=0o700)
        first = unpacked(tmp_path / "a", {"etc/x": "1"}, {"etc/y/z": "2", "usr/l": "-> /etc"})
    finally:
        os.umask(umask)
    (tmp_path / "b").mkdir()
    second = unpacked(tmp_path / "b", {"etc/y/z": "2", "usr/l": "-> /etc"}, {"etc/x": "1"})
    assert manifest(first) == manifest(second)


@pytest.mark.parametrize("change", ["content", "mode", "date", "more", "less", "link"])
def test_the_manifest_sees_every_change(tmp_path: Path, change: str) -> None:
    tree = unpacked(tmp_path, {"etc/x": "1", "etc/y": "2", "etc/l": "-> x"})
    before = manifest(tree)
    file, link = tree / "etc/x", tree / "etc/l"
    file.chmod(0o644)
    if change == "content":
        file.write_text("3")
    if change == "link":
        link.unlink()
        link.symlink_to("y")
        os.utime(link, (1_000, 1_000), follow_symlinks=False)
    if change == "less":
        file.unlink()
    else:
        file.chmod(0o600 if change == "mode" else 0o444)
        os.utime(file, (2_000, 2_000) if change == "date" else (1_000, 1_000))
    if change == "more":
        (tree / "etc/z").touch()
    os.utime(tree / "etc", (1_000, 1_000))
    changed = {"more": "etc/z", "link": "etc/l"}.get(change, "etc/x")
    assert differences(before, manifest(tree)) == [changed]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"../x": "1"}, r"p0: \.\./x leads out"),
        ({"etc/../../x": "1"}, "leads out"),
        ({"etc/l": "-> ../../x"}, "the link etc/l leads out of the userland, to ../../x"),
        ({"etc/l": "-> /../x"}, "leads out"),
        ({"etc/l": "-> /tmp", "etc/l/x": "1"}, "would be below l, which is no folder"),
        ({"etc/x": "1", "etc/x/y": "1"}, "would be below x, which is no folder"),
        ({"etc/x/": "", "etc/x": "1"}, "etc/x is a folder already"),
        ({"dev/null": "device"}, "neither a file, a folder nor a link"),
        ({"etc/a\nb": "1"}, "not a printable name"),
    ],
)
def test_what_leads_out_or_does_not_fit_is_refused(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(MachineError, match=message):
        unpacked(tmp_path, files)
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]


def test_two_packages_cannot_have_the_same_file(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="packages p0 and p1 both have usr/bin/x"):
        unpacked(tmp_path, {"bin/x": "1"}, {"usr/bin/x": "2"})


PARTS = st.lists(st.sampled_from(["..", ".", "a", "b", "", "bin"]), min_size=1, max_size=6).map("/".join)


@given(path=PARTS, to=PARTS, also=PARTS)
def test_no_path_and_no_link_leaves_the_folder(
    tmp_path_factory: pytest.TempPathFactory, path: str, to: str, also: str
) -> None:
    folder = tmp_path_factory.mktemp("x")
    try:
        tree = unpacked(folder, {path or ".": f"-> {to}", also or ".": "text"})
    except (MachineError, KeyError):  # tarfile's, for a hard link that leads nowhere
        tree = folder / "tree"
    assert [each.name for each in folder.iterdir()] == ["tree"]
    for found in tree.rglob("*"):
        where = os.path.normpath(found.parent / found.readlink()) if found.is_symlink() else str(found)
        assert f"{where}/".startswith(f"{tree}/")


def test_removed_folders_go_with_all_that_is_in_them(tmp_path: Path) -> None:
    files = {"usr/share/doc/": "", "usr/share/doc/x/y": "1", "usr/share/docs": "2", "etc/cron.d/x": "3"}
    tree = unpacked(tmp_path, files, remove=("usr/share/doc", "etc/cron*"))
    assert {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()} == {"usr/share/docs"}


@pytest.mark.parametrize("cut", [0, 4, 30, 100, -40])
def test_a_damaged_package_is_named(tmp_path: Path, cut: int) -> None:
    whole = tmp_path / "x.deb"
    whole.write_bytes(deb_of({"etc/x": "1"})[: cut or 0])
    with pytest.raises(MachineError, match=r"x\.deb: not a package"), deb.contents(whole):
        pass


def test_a_package_is_read(tmp_path: Path) -> None:
    file = tmp_path / "x.deb"
    file.write_bytes(deb_of({"./etc/x": "1"}))
    with deb.contents(file) as tar:
        assert tar.getnames() == ["./etc/x"]
