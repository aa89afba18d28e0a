"""A userland is made once, whole, of exactly what its lock names; otherwise nothing is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import lab.machine.userland
from lab.base.building import Silent
from lab.errors import MachineError
from lab.machine.userland import cache, lock, mirror, program
from lab.machine.userland.builder import PackageGone, build, renew
from lab.machine.userland.cache import UserlandMissing
from tests.machine.userland.archive import Archive

RECIPE = """\
suite = "trixie"
packages = ["tool"]
remove = ["usr/share/doc"]
folders = ["proc"]
[links]
"usr/bin/other" = "tool"
[files]
"etc/passwd" = "root"
[programs]
"usr/sbin/init" = "#!"
"""
SCRIPT = """\
import sys, time
from pathlib import Path
from lab.base.building import Silent
from lab.machine.userland import lock
from lab.machine.userland.builder import build
class Slow(Silent):
    def step(self, done, total):
        time.sleep(float(sys.argv[2]))
lock.HERE = Path(sys.argv[1])
print(build("guest", Slow()).id)
"""
FOREVER = 600.0  # seconds: longer than any of these tests


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Archive]:
    """An archive with two packages; a recipe and a lock of its own; a cache that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    here = tmp_path / "here"
    here.mkdir()
    (here / "guest.toml").write_text(RECIPE)
    monkeypatch.setattr(lock, "HERE", here)
    found = Archive(tmp_path / "mirror")
    found.add("tool", {"./bin/tool": "#!", "./usr/share/doc/tool": "text"})
    found.add("library", {"./lib/library": "content"})
    (here / "guest.lock").write_text(found.lock())
    with found.served() as url:
        monkeypatch.setenv(mirror.MIRROR, url)
        yield found


def locked() -> str:
    """Write down in the lock which tree its packages make; return the id."""
    return renew("guest", Silent(), packages=False).id


def left() -> list[str]:
    """What an unfinished build left in the cache."""
    top = cache.folder().parent
    return [str(path.relative_to(top)) for path in top.rglob("*") if path.name.startswith((".build", ".partial"))]


def test_made_once_and_found_from_then_on(archive: Archive) -> None:
    ident = locked()
    shutil.rmtree(cache.folder())
    with pytest.raises(UserlandMissing, match="run `lab userland build guest`"):
        cache.find("guest")
    made = build("guest", Silent())
    assert made.id == ident
    assert sorted(str(path.relative_to(made.tree)) for path in made.tree.rglob("*") if path.is_file()) == [
        "etc/passwd", "usr/bin/other", "usr/bin/tool", "usr/lib/library", "usr/sbin/init",
    ]  # fmt: skip
    assert made.has("tool")
    assert not made.has("nothing")
    shutil.rmtree(archive.folder)  # nobody is asked again
    assert build("guest", Silent()) == cache.find("guest") == made
    assert made.altered() == []
    assert left() == []


@pytest.mark.usefixtures("archive")
def test_an_altered_userland_is_noticed() -> None:
    locked()
    made = build("guest", Silent())
    (made.tree / "usr/bin/tool").chmod(0o755)
    (made.tree / "usr/bin/tool").write_text("#!!")
    assert made.altered() == ["usr/bin/tool"]


def test_a_wrong_hash_is_refused(archive: Archive) -> None:
    locked()
    shutil.rmtree(cache.folder().parent)
    file = archive.folder / archive.packages[0].path
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(MachineError, match=rf"{file.name} arrived with SHA-256 .* it is not used"):
        build("guest", Silent())
    assert left() == []
    assert list(cache.folder().glob("[!l]*")) == []


@pytest.mark.usefixtures("archive")
def test_a_damaged_download_is_fetched_anew() -> None:
    ident = locked()
    shutil.rmtree(cache.folder())
    for file in (cache.folder().parent / "packages").iterdir():
        file.write_bytes(b"damaged")
    assert build("guest", Silent()).id == ident


def test_a_package_that_is_gone_is_named_with_the_cure(archive: Archive) -> None:
    locked()
    shutil.rmtree(cache.folder().parent)
    (archive.folder / archive.packages[1].path).unlink()
    with pytest.raises(PackageGone, match=r"package library 1: .*404.*`lab userland lock` makes a new userland"):
        build("guest", Silent())


def test_what_the_mirror_dropped_comes_from_the_archive_of_all_times(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ident = locked()
    shutil.rmtree(cache.folder().parent)
    older = Archive(tmp_path / "snapshot" / "20261122T072532Z")
    shutil.copytree(archive.folder, older.folder)
    (archive.folder / archive.packages[1].path).unlink()
    with Archive(tmp_path / "snapshot").served() as url:
        monkeypatch.setattr(mirror, "ALL_TIMES", f"{url}/{{time}}")
        assert build("guest", Silent()).id == ident


@pytest.mark.usefixtures("archive")
def test_another_tree_than_the_locks_is_refused() -> None:
    locked()
    shutil.rmtree(cache.folder())
    (lock.HERE / "guest.toml").write_text(RECIPE.replace('"root"', '"nobody"'))
    with pytest.raises(MachineError, match=r"made the tree [0-9a-f]{16} and not [0-9a-f]{16}: the recipe"):
        build("guest", Silent())
    assert [path.name for path in cache.folder().iterdir()] == ["lock"]


@pytest.mark.usefixtures("archive")
def test_the_id_is_of_the_bytes() -> None:
    first = locked()
    (lock.HERE / "guest.toml").write_text(f"# A comment\n{RECIPE}")
    assert locked() == first
    (lock.HERE / "guest.toml").write_text(RECIPE.replace('"root"', '"nobody"'))
    assert locked() != first


def start(pause: float) -> subprocess.Popen[str]:
    """Build in a process of its own, which waits so many seconds behind each package."""
    environment = {**os.environ, "PYTHONPATH": str(Path(lab.machine.userland.__file__).parents[3])}
    argv = [sys.executable, "-c", SCRIPT, str(lock.HERE), str(pause)]
    return subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def forgotten() -> None:
    """Lock the userland, and forget it."""
    locked()
    shutil.rmtree(cache.folder())


def building() -> None:
    for _ in range(6000):
        if any(path.is_file() for path in cache.folder().glob(".build-*/root/**/*")):
            return
        time.sleep(0.01)
    raise AssertionError("the build does not begin")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("archive")
def test_an_interrupted_build_leaves_nothing(number: int) -> None:
    forgotten()
    with start(FOREVER) as process:
        building()
        process.send_signal(number)
        assert process.wait(60) != 0
    assert [path.name for path in cache.folder().iterdir()] == ["lock"]
    assert left() == []


@pytest.mark.usefixtures("archive")
def test_what_a_killed_build_left_is_removed_by_the_next() -> None:
    forgotten()
    with start(FOREVER) as process:
        building()
        process.kill()
    assert left() != []
    assert build("guest", Silent()).altered() == []
    assert left() == []


@pytest.mark.usefixtures("archive")
def test_two_builds_at_once_do_it_once() -> None:
    forgotten()
    processes = [start(0.5), start(0.5)]
    answers = [process.communicate(timeout=60)[0] for process in processes]
    assert answers[0] == answers[1] != ""
    made = cache.find("guest")
    assert answers[0].strip() == made.id
    assert made.altered() == []


def test_python_compiles_by_the_userlands_own(archive: Archive) -> None:
    with pytest.raises(MachineError, match="Python does not run here"):
        program.compile_python(archive.folder, ["pool"], archive.folder)
