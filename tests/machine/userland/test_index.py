"""What a suite offers is believed only when it is signed; what is needed follows from it alone."""

from __future__ import annotations

import hashlib
import lzma
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.base.building import Silent
from lab.errors import MachineError
from lab.machine.userland.builder import keys
from lab.machine.userland.index import Index, Keys, Offer, fetch, needed, newest, order, signed, stanzas
from lab.machine.userland.lock import Package
from lab.machine.userland.mirror import Mirrors
from tests.machine.userland.archive import Archive

PACKAGES = f"""\
Package: tool
Version: 1:2.0-1
Depends: libc6 (>= 2.38), awk:any | perl
Pre-Depends: base (= 1)
Filename: pool/main/t/tool/tool_2.0-1_amd64.deb
Size: 10
SHA256: {"a" * 64}

Package: mawk
Version: 1
Provides: awk
Filename: pool/main/m/mawk/mawk_1_amd64.deb
Size: 11
SHA256: {"b" * 64}
Description: an
 Package: trap
"""
RELEASE = """\
Origin: Test
Codename: trixie
Date: Sat, 12 Sep 2026 07:55:41 UTC
SHA256:
 {sha256} 10 main/binary-amd64/Packages.xz
"""


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a new key: `keyring` is its public part. The agent that gpg started ends with the tests."""
    if shutil.which("gpg") is None:
        pytest.skip("needs gpg of this machine: make setup-host")
    home = tmp_path_factory.mktemp("gnupg")
    home.chmod(0o700)
    gpg(home, "--passphrase", "", "--quick-generate-key", "test", "ed25519", "sign", "never")
    (home / "keyring").write_bytes(gpg(home, "--export"))
    yield home
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=True)


def gpg(home: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    command = ["gpg", "--homedir", str(home), "--batch", "--quiet", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout


def archive_of(folder: Path, key: Path, release: str = RELEASE) -> Archive:
    """A mirror whose index is signed with `key`."""
    listed = lzma.compress(PACKAGES.encode())
    place = folder / "dists/trixie/main/binary-amd64"
    place.mkdir(parents=True)
    (place / "Packages.xz").write_bytes(listed)
    text = release.format(sha256=hashlib.sha256(listed).hexdigest())
    (folder / "dists/trixie/InRelease").write_bytes(gpg(key, "--clearsign", stdin=text.encode()))
    return Archive(folder)


def fetched(archive: Archive, key: Path) -> Index:
    with archive.served() as url:
        return fetch(Mirrors((url,)), "trixie", keys(Silent(), key / "keyring"))


def test_a_signed_index_is_read(tmp_path: Path, key: Path) -> None:
    index = fetched(archive_of(tmp_path, key), key)
    assert index.date == "2026-09-12T07:55:41Z"
    assert set(index.offers) == {"tool", "mawk"}
    assert index.offers["tool"].package.path == "pool/main/t/tool/tool_2.0-1_amd64.deb"


def test_a_signature_by_another_key_is_refused(tmp_path: Path, key: Path) -> None:
    archive = archive_of(tmp_path, key)
    with archive.served() as url, pytest.raises(MachineError, match=r"no key of .* signed the archive's index"):
        fetch(Mirrors((url,)), "trixie", keys(Silent()))


def test_an_altered_index_is_refused(tmp_path: Path, key: Path) -> None:
    archive = archive_of(tmp_path, key)
    file = tmp_path / "dists/trixie/InRelease"
    file.write_text(file.read_text().replace("2026", "2027"))
    with pytest.raises(MachineError, match="no key of"):
        fetched(archive, key)


def test_what_stands_around_the_signed_text_is_not_believed(key: Path) -> None:
    text = gpg(key, "--clearsign", stdin=b"Date: now\n")
    assert signed(b"Date: never\n\n" + text, keys(Silent(), key / "keyring")) == "Date: now\n"


def test_an_unsigned_index_is_refused(key: Path) -> None:
    with pytest.raises(MachineError, match="no key of"):
        signed(RELEASE.encode(), keys(Silent(), key / "keyring"))


def test_without_a_keyring_nothing_is_believed(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="absent, which holds the keys of the archive, is missing"):
        signed(b"", keys(Silent(), tmp_path / "absent"))


def test_without_gpgv_nothing_is_believed(tmp_path: Path, key: Path) -> None:
    with pytest.raises(MachineError, match="gpgv, which checks signatures, does not run here"):
        signed(b"", Keys(tmp_path, key / "keyring"))


def test_a_list_that_is_not_the_signed_one_is_refused(tmp_path: Path, key: Path) -> None:
    archive = archive_of(tmp_path, key)
    (tmp_path / "dists/trixie/main/binary-amd64/Packages.xz").write_bytes(lzma.compress(b"Package: evil"))
    with pytest.raises(MachineError, match="does not match its signed index"):
        fetched(archive, key)


def test_a_suite_may_be_named_by_its_rank(tmp_path: Path, key: Path) -> None:
    archive = archive_of(tmp_path, key, f"Suite: stable\n{RELEASE}")
    (tmp_path / "dists/stable").symlink_to("trixie")
    with archive.served() as url:
        assert set(fetch(Mirrors((url,)), "stable", keys(Silent(), key / "keyring")).offers) == {"tool", "mawk"}


def test_another_suites_index_is_refused(tmp_path: Path, key: Path) -> None:
    with pytest.raises(MachineError, match="not that of trixie"):
        fetched(archive_of(tmp_path, key, RELEASE.replace("trixie", "sid")), key)


def test_stanzas_say_what_is_needed_and_provided() -> None:
    tool, mawk = stanzas(PACKAGES)
    assert tool.needs == (("base",), ("libc6",), ("awk", "perl"))
    assert mawk.provides == ("awk",)
    assert mawk.package.size == 11


def index_of(**needs: str) -> dict[str, Offer]:
    """Packages by name; what each needs is written as in "a, b | c"."""
    text = "\n\n".join(
        f"Package: {name}\nVersion: 1\nSHA256: {'a' * 64}\nSize: 1\nFilename: pool/{name}.deb\nDepends: {field}"
        for name, field in needs.items()
    )
    return {offer.package.name: offer for offer in stanzas(text)}


@pytest.mark.parametrize(
    ("wanted", "without", "found"),
    [
        ({"a"}, set(), "a b c"),
        ({"a"}, {"b"}, "a"),
        ({"d"}, set(), "b c d"),
        ({"d", "e"}, set(), "d e"),
        ({"f"}, {"nowhere"}, "f"),
    ],
)
def test_needed_follows_dependencies(wanted: set[str], without: set[str], found: str) -> None:
    index = index_of(a="b", b="c", c="", d="b | e", e="", f="nowhere")
    assert " ".join(package.name for package in needed(index, wanted, without)) == found


def test_a_dependency_that_nobody_offers_is_named() -> None:
    with pytest.raises(MachineError, match="no package nowhere, which f needs"):
        needed(index_of(f="nowhere"), {"f"}, ())


NAMES = st.sampled_from("abcdefgh")
GRAPHS = st.dictionaries(NAMES, st.lists(NAMES, max_size=3), min_size=8, max_size=8)


@given(GRAPHS, st.sets(NAMES, min_size=1), st.sets(NAMES))
def test_what_is_found_is_closed_and_no_more_than_reachable(
    graph: dict[str, list[str]], wanted: set[str], without: set[str]
) -> None:
    found = {
        package.name for package in needed(index_of(**{n: ", ".join(to) for n, to in graph.items()}), wanted, without)
    }
    assert wanted <= found
    assert all(each in found or each in without for name in found for each in graph[name])
    assert all(name in wanted or any(name in graph[other] for other in found) for name in found)


def test_package_is_what_a_lock_holds() -> None:
    (first, *_) = stanzas(PACKAGES)
    assert first.package == Package("tool", "1:2.0-1", "a" * 64, 10, "pool/main/t/tool/tool_2.0-1_amd64.deb")


# -- a package that an index has in several versions


# By `dpkg --compare-versions`, from the oldest on.
VERSIONS = (
    *("~", "0~rc1-1", "0", "0.9", "1.0~beta1~svn1245", "1.0~beta1", "1.0", "1.0-0.1", "1.0-1", "1.0-1+deb12u1"),
    *("1.0-10", "1.0a", "1.0+b1", "1.0.1", "6.1.187-1", "6.1.192-1", "6.1.192-2", "6.12.9-1", "6.12.113-1"),
    *("7.2-1~exp1", "7.2-1", "7.2.13-1", "1:0.1", "1:2.0-1", "2:0"),
)


@pytest.mark.needs("dpkg")
def test_versions_are_ordered_as_dpkg_orders_them() -> None:
    def before(one: str, other: str) -> bool:
        return (
            subprocess.run(["dpkg", "--compare-versions", one, "lt", other], stderr=subprocess.DEVNULL).returncode == 0
        )

    assert all(before(*neighbours) for neighbours in pairwise(VERSIONS)), "from the oldest on"
    for place, one in enumerate(VERSIONS):
        for other_place, other in enumerate(VERSIONS):
            assert (order(one) < order(other)) is (place < other_place), (one, other)


@given(st.permutations(["6.1.176-1", "6.1.187-1", "6.1.190-1", "6.1.192-1", "6.1.192-2"]))
def test_the_newest_version_counts_wherever_the_index_has_it(versions: list[str]) -> None:
    listed = "\n\n".join(PACKAGES.split("\n\n")[1].replace("Version: 1", f"Version: {each}") for each in versions)
    found = newest(stanzas(listed))
    assert {name: offer.package.version for name, offer in found.items()} == {"mawk": "6.1.192-2"}
