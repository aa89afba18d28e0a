"""Sources are found once and remembered; a .deb and a tar file give the same tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab.errors import InputError, MachineError
from lab.kernel import apt
from lab.kernel.apt import Package
from lab.kernel.uml import source

PACKAGE = Package("7.2", "linux-source-7.2", "7.2.13-1", "a" * 64)


def silent(_: str) -> None: ...


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "linux-source-7.2"
    (tree / "kernel").mkdir(parents=True)
    (tree / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 2\nSUBLEVEL = 13\n")
    (tree / "kernel" / "fork.c").write_text("/* fork */\n")
    (tree / "link").symlink_to("kernel")
    return tree


@pytest.fixture
def tar(tree: Path) -> Path:
    file = tree.parent / "linux-source-7.2.tar.xz"
    subprocess.run(["tar", "-cJf", str(file), "-C", str(tree.parent), tree.name], check=True)
    return file


@pytest.fixture
def deb(tar: Path) -> Path:
    root = tar.parent / "root"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "usr" / "src").mkdir(parents=True)
    (root / "usr" / "src" / tar.name).write_bytes(tar.read_bytes())
    (root / "DEBIAN" / "control").write_text(
        "Package: linux-source-7.2\nVersion: 7.2.13-1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: c\n"
    )
    file = tar.parent / "linux-source-7.2_7.2.13-1_all.deb"
    subprocess.run(["dpkg-deb", "--build", str(root), str(file)], check=True, capture_output=True)
    return file


@pytest.mark.parametrize(("kind", "version"), [("tar", "7.2"), ("deb", "7.2.13-1")])
def test_every_form_of_a_source(kind: str, version: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    found = source.from_file(request.getfixturevalue(kind))
    assert (found.series, found.version) == ("7.2", version)
    assert found.path is not None
    source.unpack(found.path, tmp_path / "unpacked")
    assert (tmp_path / "unpacked" / "kernel" / "fork.c").read_text() == "/* fork */\n"
    assert (tmp_path / "unpacked" / "link").is_symlink()


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    for name in ("absent.deb", "notes.txt"):
        with pytest.raises(InputError, match="neither"):
            source.from_file(tmp_path / name)
    with pytest.raises(InputError, match="see --tree"):
        source.from_file(tmp_path)
    (tmp_path / "notes.tar.gz").touch()
    with pytest.raises(InputError, match="no kernel source"):
        source.from_file(tmp_path / "notes.tar.gz")


def test_a_damaged_archive_is_named(deb: Path, tmp_path: Path) -> None:
    deb.write_bytes(deb.read_bytes()[:-200])
    with pytest.raises(MachineError, match=f"cannot unpack {deb}"):
        source.unpack(deb, tmp_path / "unpacked")


def test_the_network_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def newest(_: Path, series: str | None) -> Package:
        asked.append(series)
        return PACKAGE

    monkeypatch.setattr(apt, "newest", newest)
    first = source.resolve(tmp_path, None, False, silent)
    assert source.resolve(tmp_path, None, False, silent) == first
    assert source.resolve(tmp_path, "7.2", False, silent) == first
    assert asked == [None]
    source.resolve(tmp_path, None, True, silent)
    assert asked == [None, None]


def test_without_network_the_known_source_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(_: Path, series: str | None) -> Package:
        raise MachineError(f"no network for {series}")

    monkeypatch.setattr(apt, "newest", lambda *_: PACKAGE)
    known = source.resolve(tmp_path, None, False, silent)
    monkeypatch.setattr(apt, "newest", unreachable)
    said: list[str] = []
    assert source.resolve(tmp_path, None, True, said.append) == known
    assert "keeping 7.2.13-1" in said[-1]
    with pytest.raises(MachineError, match="no network"):
        source.resolve(tmp_path, "6.12", False, silent)
