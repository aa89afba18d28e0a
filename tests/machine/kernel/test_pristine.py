"""A source is unpacked once; whatever a build does to its tree, the next one starts from the source as it was."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.base.building import WEEK, Silent
from lab.errors import MachineError
from lab.machine.kernel.uml import compiling, pristine, source
from lab.machine.kernel.uml.recipe import Patch
from lab.machine.userland.builder import build
from tests.machine.kernel.test_source import Heard

FILES = {"Makefile": "all:\n", "net/tcp.c": "int tcp;\n", "net/udp.c": "int udp;\n", "drivers/gpu/drm/a.c": "int a;\n"}
PATCH = Patch("mine", b"--- a/net/tcp.c\n+++ b/net/tcp.c\n@@ -1 +1,2 @@\n int tcp;\n+int more;\n")
SCRIPT = """\
import os, signal, sys
from pathlib import Path
from lab.base.building import Silent
from lab.machine.kernel.uml import pristine, source
from lab.machine.userland.builder import build
usual = source.unpack
def unpack(*arguments):
    usual(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
source.unpack = unpack
file, home, place = (Path(each) for each in sys.argv[1:])
place.parent.mkdir()
pristine.tree(home, source.from_file(file), (), place, build("compiler", Silent()), Silent())
"""


def packed(folder: Path, files: dict[str, str]) -> Path:
    file = folder / "linux-7.2.1.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        for name, content in files.items():
            about = tarfile.TarInfo(f"linux-7.2.1/{name}")
            about.size, about.mtime = len(content), 1_750_000_000
            tar.addfile(about, io.BytesIO(content.encode()))
    return file


class Home:
    """A cache, and a source to unpack there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.compiler, self.builds = folder / "home", build("compiler", Silent()), 0
        self.file = packed(folder, FILES)
        self.folder.mkdir()
        self.heard = Heard()

    def tree(self, *patches: Patch) -> Path:
        self.builds += 1
        place = self.folder / f".build-{self.builds}" / "tree"
        place.parent.mkdir()
        pristine.tree(self.folder, source.from_file(self.file), patches, place, self.compiler, self.heard)
        return place

    @property
    def unpacked(self) -> int:
        return sum(said.startswith("unpacking") for said in self.heard.said)

    @property
    def kept(self) -> list[Path]:
        return list((self.folder / "unpacked").iterdir())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def content(tree: Path) -> dict[str, str]:
    return {str(path.relative_to(tree)): path.read_text() for path in tree.rglob("*") if path.is_file()}


PLAIN = {name: text for name, text in FILES.items() if "gpu" not in name}


def test_a_source_is_unpacked_once(home: Home) -> None:
    assert content(home.tree()) == content(home.tree()) == PLAIN
    assert home.unpacked == 1


def test_what_is_patched_or_made_in_a_tree_stays_there(home: Home, tmp_path: Path) -> None:
    tree = home.tree()
    with (tmp_path / "log").open("wb") as log:
        compiling.patch(tree, [PATCH], log, home.compiler)
    (tree / "net/tcp.o").write_text("object")
    assert content(tree)["net/tcp.c"] == "int tcp;\nint more;\n"
    assert content(home.tree()) == PLAIN
    assert home.unpacked == 1


def append(file: Path) -> None:
    with file.open("a") as opened:
        opened.write("int written;\n")


@pytest.mark.parametrize("damage", [append, Path.unlink, os.truncate, Path.touch])
def test_a_kept_source_that_changed_is_unpacked_anew(home: Home, damage: Callable[..., None]) -> None:
    file = home.tree() / "net/udp.c"
    if damage is Path.unlink:
        file = home.kept[0] / "tree/net/udp.c"
    damage(file, 3) if damage is os.truncate else damage(file)
    assert content(home.tree()) == PLAIN
    assert home.unpacked == 2
    home.tree()
    assert home.unpacked == 2


def test_a_patch_of_what_is_left_out_brings_it(home: Home) -> None:
    change = Patch("mine", b"--- a/drivers/gpu/drm/a.c\n+++ b/drivers/gpu/drm/a.c\n@@ -1 +1 @@\n-int a;\n+int b;\n")
    assert content(home.tree()) == PLAIN
    assert content(home.tree(change)) == FILES
    assert content(home.tree()) == PLAIN
    assert home.unpacked == 2


def test_two_sources_are_two(home: Home, tmp_path: Path) -> None:
    home.tree()
    home.file = packed(tmp_path, {**FILES, "net/udp.c": "int newer;\n"})
    assert content(home.tree())["net/udp.c"] == "int newer;\n"


def test_what_nobody_used_for_a_week_is_forgotten(home: Home, tmp_path: Path) -> None:
    home.tree()
    old = home.kept[0]
    os.utime(old, (time.time() - WEEK - 60,) * 2)
    home.tree()
    assert home.kept == [old], "it is used"
    os.utime(old, (time.time() - WEEK - 60,) * 2)
    home.file = packed(tmp_path, {**FILES, "net/udp.c": "int newer;\n"})
    home.tree()
    assert len(home.kept) == 1
    assert old not in home.kept


def test_killed_while_it_unpacks_it_keeps_nothing_that_is_not_whole(home: Home) -> None:
    place = home.folder / ".build-0" / "tree"
    killed = subprocess.run([sys.executable, "-c", SCRIPT, str(home.file), str(home.folder), str(place)])
    assert killed.returncode == -9
    assert [each.name for each in home.folder.iterdir()] == [".build-0"], "which the next build removes"
    assert content(home.tree()) == PLAIN


def test_a_damaged_source_keeps_nothing(home: Home) -> None:
    home.file.write_bytes(home.file.read_bytes()[:-20])
    with pytest.raises(MachineError, match="cannot unpack"):
        home.tree()
    assert not (home.folder / "unpacked").exists()


def test_a_file_system_without_links_gets_copies(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    append(home.tree() / "net/udp.c")
    assert content(home.tree()) == PLAIN
    assert home.unpacked == 1
