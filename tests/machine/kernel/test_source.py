"""Sources are found once and remembered; a .deb and a tar file give the same tree."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from lab.base.building import Progress, Silent
from lab.errors import InputError, MachineError
from lab.machine.kernel import debian
from lab.machine.kernel.debian import Found
from lab.machine.kernel.uml import source
from lab.machine.kernel.uml.recipe import Patch
from lab.machine.kernel.uml.source import Source
from lab.machine.userland import mirror
from lab.machine.userland.builder import build
from lab.machine.userland.cache import Userland
from lab.machine.userland.lock import Package
from tests.machine.userland.archive import Archive, deb_of

POOL = "pool/main/l/linux/linux-source-7.2_7.2.13-1_all.deb"
OFFER = Found(Package("linux-source-7.2", "7.2.13-1", "a" * 64, 1, POOL), "", "20261122T000000Z")


class Heard(Silent):
    """A progress that keeps what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, message: str) -> None:
        self.said.append(message)


@pytest.fixture(scope="session")
def compiler() -> Userland:
    return build("compiler", Silent())


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "linux-source-7.2"
    (tree / "kernel").mkdir(parents=True)
    (tree / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 2\nSUBLEVEL = 13\n")
    (tree / "kernel" / "fork.c").write_text("/* fork */\n")
    (tree / "link").symlink_to("kernel")
    return tree


@pytest.fixture(params=["xz", "gz", "bz2", "zst"])
def tar(tree: Path, request: pytest.FixtureRequest) -> Path:
    file = tree.parent / f"linux-source-7.2.tar.{request.param}"
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as packed:
        packed.add(tree, tree.name)
    compress: dict[str, Callable[[bytes], bytes]]
    compress = {"xz": lzma.compress, "gz": gzip.compress, "bz2": bz2.compress, "zst": zstandard.compress}
    file.write_bytes(compress[request.param](content.getvalue()))
    return file


@pytest.fixture
def deb(tar: Path) -> Path:
    file = tar.parent / "linux-source-7.2_7.2.13-1_all.deb"
    file.write_bytes(
        deb_of({f"./usr/src/{tar.name}": tar.read_bytes()}, "Package: linux-source-7.2\nVersion: 7.2.13-1\n")
    )
    return file


def unpacked(file: Path, compiler: Userland) -> Source:
    found = source.from_file(file)
    tree = file.parent / "unpacked"
    source.unpack(file, tree, compiler)
    assert (tree / "kernel" / "fork.c").read_text() == "/* fork */\n"
    assert (tree / "link").is_symlink()
    return found


def test_a_tar_file_is_a_source(tar: Path, compiler: Userland) -> None:
    found = unpacked(tar, compiler)
    assert (found.series, found.version, found.path) == ("7.2", "7.2", tar)


def test_a_package_is_a_source(deb: Path, compiler: Userland) -> None:
    found = unpacked(deb, compiler)
    assert (found.series, found.version, found.path) == ("7.2", "7.2.13-1", deb)


def test_what_is_never_compiled_is_left_out_unless_a_patch_changes_it(compiler: Userland, tmp_path: Path) -> None:
    top = tmp_path / "linux-source-7.2"
    kept = [
        "Makefile",
        "arch/um/Makefile",
        "arch/x86/um/a.c",
        "arch/arm/Kconfig",
        "drivers/gpu/Kconfig",
        "drivers/net/veth.c",
        "net/a.c",
        "tools/include/a.h",
    ]
    needless = ["arch/arm/a.S", "drivers/gpu/drm/a.c", "drivers/net/ethernet/a.h", "Documentation/net/a.rst"]
    needless += ["tools/testing/selftests/a.c", "tools/perf/a.c"]
    for name in (*kept, *needless):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    file = tmp_path / "linux-source-7.2.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        tar.add(top, top.name)

    def unpacked(name: str, *patches: Patch) -> list[str]:
        source.unpack(file, tmp_path / name, compiler, source.needless(patches))
        return sorted(str(path.relative_to(tmp_path / name)) for path in (tmp_path / name).rglob("*") if path.is_file())

    assert unpacked("plain") == sorted(kept)
    change = Patch("mine", b"--- a/drivers/gpu/drm/a.c\n+++ b/drivers/gpu/drm/a.c\n@@ -0,0 +1 @@\n+int a;\n")
    assert unpacked("changed", change) == sorted([*kept, "drivers/gpu/drm/a.c"])


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    for name, message in {"absent.deb": "no such file", "notes.txt": "not a .deb", "": "use --tree"}.items():
        with pytest.raises(InputError, match=message):
            source.from_file(tmp_path / name)
    (tmp_path / "notes.tar.gz").touch()
    with pytest.raises(InputError, match="not a kernel source"):
        source.from_file(tmp_path / "notes.tar.gz")


def test_a_damaged_archive_is_named(deb: Path, compiler: Userland, tmp_path: Path) -> None:
    deb.write_bytes(deb.read_bytes()[:-200])
    with pytest.raises(MachineError, match=f"{deb}: not a package that can be unpacked"):
        source.unpack(deb, tmp_path / "unpacked", compiler)


def test_a_damaged_tar_file_is_named(tar: Path, compiler: Userland, tmp_path: Path) -> None:
    tar.write_bytes(tar.read_bytes()[:-40])
    with pytest.raises(MachineError, match=f"cannot unpack {tar}"):
        source.unpack(tar, tmp_path / "unpacked", compiler)


def test_a_package_that_is_no_source_is_named(compiler: Userland, tmp_path: Path) -> None:
    (tmp_path / "bash_5.deb").write_bytes(deb_of({"./usr/bin/bash": "#!"}, "Version: 5.2\n"))
    with pytest.raises(MachineError, match="it has no kernel source"):
        source.unpack(tmp_path / "bash_5.deb", tmp_path / "unpacked", compiler)


def test_the_network_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def offered(series: str | None, _: Progress) -> Found:
        asked.append(series)
        return OFFER

    monkeypatch.setattr(debian, "source", offered)
    first = source.resolve(tmp_path, None, False, Silent())
    assert (first.series, first.version) == ("7.2", "7.2.13-1")
    assert source.resolve(tmp_path, None, False, Silent()) == first
    assert source.resolve(tmp_path, "7.2", False, Silent()) == first
    assert asked == [None]
    source.resolve(tmp_path, None, True, Silent())
    assert asked == [None, None]


def test_a_source_is_fetched_once_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Archive(tmp_path / "mirror")
    file = archive.add("linux-source-7.2", {"./usr/src/linux-source-7.2.tar.xz": "content"})
    offer = Found(archive.packages[0], "", "")
    monkeypatch.setattr(debian, "source", lambda *_: offer)
    found = source.resolve(tmp_path, None, False, Silent())
    with archive.served() as url:
        monkeypatch.setenv(mirror.MIRROR, url)
        fetched = source.fetch(tmp_path, found, Silent())
        assert fetched.read_bytes() == file.read_bytes()
        fetched.unlink()
        file.write_bytes(b"other")
        with pytest.raises(MachineError, match=r"arrived with SHA-256 .* it is not used"):
            source.fetch(tmp_path, found, Silent())
    assert [path.name for path in (tmp_path / "sources").iterdir() if not path.name.endswith(".json")] == []


def test_without_network_the_known_source_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(series: str | None, _: Progress) -> Found:
        raise MachineError(f"no network for {series}")

    monkeypatch.setattr(debian, "source", lambda *_: OFFER)
    known = source.resolve(tmp_path, None, False, Silent())
    monkeypatch.setattr(debian, "source", unreachable)
    heard = Heard()
    assert source.resolve(tmp_path, None, True, heard) == known
    assert "keeping 7.2.13-1" in heard.said[-1]
    with pytest.raises(MachineError, match="no network"):
        source.resolve(tmp_path, "6.12", False, Silent())
