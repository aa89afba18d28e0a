"""packetdrill's source is the same from a folder and a tar file; scripts are found with what they need."""

from __future__ import annotations

import random
import tarfile
from pathlib import Path

import pytest

from lab.base.building import Silent
from lab.errors import InputError
from lab.ext.suites.packetdrill import scripts, source
from lab.ext.suites.packetdrill.api import packetdrill

FOLDER = "packetdrill-main/gtests/net/packetdrill"
FILES = {
    "packetdrill.c": "int main(void) { return 0; }",
    "run.h": "#pragma once",
    "parser.y": "%%",
    "Makefile.Linux": "include Makefile.common",
    "Makefile.common": "packetdrill:",
}
BUILT = {"parser.c": "generated", "lexer.c": "generated", "run.o": "object", "README": "read me"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout, built in."""
    home = tmp_path / FOLDER
    home.mkdir(parents=True)
    for name, text in (FILES | BUILT).items():
        (home / name).write_text(text)
    return tmp_path / "packetdrill-main"


def packed(tree: Path, kind: str) -> Path:
    file = tree.parent / f"packetdrill.tar.{kind}"
    with tarfile.open(file, f"w:{kind}") as tar:  # type: ignore[call-overload]
        tar.add(tree, "packetdrill-main")
    return file


def test_a_folder_and_a_tar_file_hold_the_same_source(tree: Path) -> None:
    found = source.read(tree)
    assert found.files.keys() == FILES.keys()
    assert source.read(tree / "gtests/net/packetdrill").sha256 == found.sha256
    assert {source.read(packed(tree, kind)).sha256 for kind in ("gz", "xz")} == {found.sha256}
    (tree / "gtests/net/packetdrill/run.h").write_text("#pragma twice")
    assert source.read(tree).sha256 != found.sha256


def test_what_is_no_source_is_refused(tree: Path, tmp_path: Path) -> None:
    (tree / "gtests/net/packetdrill/packetdrill.c").unlink()
    for place in (tree, packed(tree, "gz")):
        with pytest.raises(InputError, match=r"not a source of packetdrill: it has no packetdrill\.c"):
            source.read(place)
    with pytest.raises(InputError, match="no such file"):
        source.read(tmp_path / "nowhere.tar.gz")
    (tmp_path / "text.tar").write_text("no archive")
    with pytest.raises(InputError, match="not a readable tar file"):
        source.read(tmp_path / "text.tar")


@pytest.mark.parametrize("kind", ["gz", "xz"])
def test_an_archive_that_is_cut_off_is_refused(tree: Path, kind: str) -> None:
    (tree / "gtests/net/packetdrill/run.c").write_bytes(random.Random(1).randbytes(200_000))
    file = packed(tree, kind)
    whole = file.read_bytes()
    for part in (whole[: len(whole) // 2], whole[:5]):
        file.write_bytes(part)
        with pytest.raises(InputError, match="not a readable tar file"):
            source.read(file)


def test_a_tolerance_has_a_unit() -> None:
    with pytest.raises(InputError, match="--tolerance: duration '1' lacks a unit"):
        packetdrill(tolerance="1")


SCRIPT = "`./defaults.sh`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Scripts, and what is beside them."""
    home = tmp_path / "mine"
    home.mkdir()
    (home / "tcp_one.pkt").write_text(SCRIPT)
    (home / "tcp_two.pkt").write_text(f"// six alone\n--ip_version=ipv6\n{SCRIPT}")
    (home / "defaults.sh").write_text("python3 ./set_sysctls.py\n")
    (home / "set_sysctls.py").write_text("pass\n")
    (home / "Makefile").write_text("all:\n")
    return home


def test_a_script_says_its_versions_and_brings_what_it_starts(folder: Path) -> None:
    one, two = scripts.find([str(folder)], "7.2", Silent())
    assert (one.name, one.group, one.versions) == ("tcp_one", "mine", ("ipv4", "ipv6", "ipv4-mapped-ipv6"))
    assert two.versions == ("ipv6",)
    assert one.files == ("defaults.sh", "set_sysctls.py")


def test_each_script_is_found_once(folder: Path) -> None:
    words = [str(folder / "tcp_two.pkt"), str(folder)]
    assert [each.name for each in scripts.find(words, "7.2", Silent())] == ["tcp_two", "tcp_one"]


def test_mistakes_are_said(folder: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere/x\.pkt: there is no folder nowhere"):
        scripts.find(["nowhere/x.pkt"], "7.2", Silent())
    (folder / "tcp_one.pkt").write_text("// as before\n--ip_version=ipx\n")
    with pytest.raises(InputError, match=r"tcp_one\.pkt:2: 'ipx' is not one of ipv4, ipv6, ipv4-mapped-ipv6"):
        scripts.find([str(folder)], "7.2", Silent())
    (folder / "tcp_one.pkt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        scripts.find([str(folder)], "7.2", Silent())
