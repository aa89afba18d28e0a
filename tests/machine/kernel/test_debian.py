"""Kernels are found in Debian's archive by its indexes: the newest of a series, with all packages that hold it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab.base.building import Silent
from lab.errors import MachineError
from lab.machine.kernel import debian
from lab.machine.kernel.debian import Offered
from lab.machine.userland import builder, index
from lab.machine.userland.index import Index, Keys, stanzas
from lab.machine.userland.mirror import SECURITY, Mirrors, NotFetched

# Name, version, what it needs.
SID = """
linux-image-amd64 7.2.13-1 linux-base-amd64 (= 7.2.13-1), linux-image-7.2.13+deb14-amd64 (= 7.2.13-1)
linux-image-7.2.13+deb14-amd64 7.2.13-1
linux-binary-7.2.13+deb14-amd64 7.2.13-1
linux-modules-7.2.13+deb14-amd64 7.2.13-1
linux-source-7.2 7.2.13-1
linux-source 7.2.13-1 linux-source-7.2
"""
STABLE = """
linux-image-amd64 6.12.107-1 linux-image-6.12.107+deb13-amd64 (= 6.12.107-1)
linux-image-6.12.107+deb13-amd64 6.12.107-1
linux-source-6.12 6.12.107-1
"""
UPDATES = """
linux-image-amd64 6.12.117-1 linux-image-6.12.117+deb13-amd64 (= 6.12.117-1)
linux-image-6.12.117+deb13-amd64 6.12.117-1
linux-source-6.12 6.12.117-1
"""
CANDIDATE = """
linux-image-amd64 7.3~rc7-1~exp1 linux-image-7.3-amd64 (= 7.3~rc7-1~exp1)
linux-image-7.3-amd64 7.3~rc7-1~exp1
linux-source-7.3 7.3~rc7-1~exp1
"""
SUITES = {
    "sid": SID,
    "stable": STABLE,
    "stable-security": UPDATES,
    "oldstable": "",
    "oldstable-security": "",
    "experimental": CANDIDATE,
}

Archive = Callable[..., list[str]]


def offers(text: str) -> Index:
    lines = [line.split(" ", 2) for line in text.splitlines() if line]
    listed = "\n\n".join(
        f"Package: {name}\nVersion: {version}\nSHA256: {'a' * 64}\nSize: 1\nFilename: pool/{name}_{version}.deb\n"
        f"Depends: {''.join(needs)}"
        for name, version, *needs in lines
    )
    return Index("2026-09-12T07:55:41Z", {each.package.name: each for each in stanzas(listed)})


def offered(text: str) -> Offered:
    return Offered(offers(text).offers, "", "")


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> Archive:
    """Plays the archive: returns the list of the suites that were read. `lacking` ones are not there."""

    def play(lacking: tuple[str, ...] = ()) -> list[str]:
        asked: list[str] = []

        def fetch(mirrors: Mirrors, suite: str, _: Keys) -> Index:
            assert all((SECURITY in url) == suite.endswith(SECURITY) for url in mirrors.urls)
            asked.append(suite)
            if suite in lacking:
                raise NotFetched("404")
            return offers(SUITES[suite])

        monkeypatch.setattr(index, "fetch", fetch)
        monkeypatch.setattr(builder, "keys", lambda _: None)
        return asked

    return play


def test_a_suites_kernel_is_in_the_packages_that_its_usual_one_needs() -> None:
    (found,) = debian.images(offered(SID))
    assert (found.series, found.version, found.release) == ("7.2", "7.2.13-1", "7.2.13+deb14-amd64")
    assert [each.package.name.split("-")[1] for each in found.packages] == ["image", "binary", "modules"]
    assert debian.images(offered("")) == []
    assert debian.images(offered("linux-image-amd64 7.2.13-1 linux-image-7.2.13-amd64")) == []


def test_sources_are_those_of_a_series_alone() -> None:
    assert [each.package.name for each in debian.sources(offered(SID))] == ["linux-source-7.2"]


def test_the_newest_kernel_is_in_the_newest_suite(archive: Archive) -> None:
    asked = archive()
    assert debian.source(None, Silent()).package.version == "7.2.13-1"
    assert debian.image("7.2", Silent()).version == "7.2.13-1"
    assert asked == ["sid"] * 2


def test_an_older_series_comes_from_where_it_is_newest(archive: Archive) -> None:
    asked = archive()
    found = debian.source("6.12", Silent())
    assert (found.package.version, found.part) == ("6.12.117-1", SECURITY)
    assert debian.image("6.12", Silent()).release == "6.12.117+deb13-amd64"
    assert asked == ["sid", "stable", "stable-security"] * 2


def test_a_release_candidate_is_for_whoever_names_its_series(archive: Archive) -> None:
    asked = archive()
    assert debian.source("7.3", Silent()).package.version == "7.3~rc7-1~exp1"
    assert debian.image("7.3", Silent()).release == "7.3-amd64"
    assert asked == [*SUITES] * 2
    assert debian.source(None, Silent()).package.version == "7.2.13-1"


def test_a_mirror_need_not_have_the_security_updates(archive: Archive) -> None:
    archive(("stable-security", "oldstable-security"))
    assert debian.source("6.12", Silent()).package.version == "6.12.107-1"


def test_a_series_that_nobody_offers_is_named_with_those_that_there_are(archive: Archive) -> None:
    archive()
    with pytest.raises(MachineError, match=r"no source of kernel 5\.10; it has 7\.3, 7\.2, 6\.12"):
        debian.source("5.10", Silent())
    with pytest.raises(MachineError, match=r"no kernel 5\.10; it has 7\.3, 7\.2, 6\.12"):
        debian.image("5.10", Silent())


def test_without_network_the_reason_is_given(archive: Archive) -> None:
    archive(("sid",))
    with pytest.raises(NotFetched, match="404"):
        debian.source(None, Silent())
