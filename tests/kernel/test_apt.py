"""The machine's own apt sources, in both formats, lead to the kernel source."""

from __future__ import annotations

from pathlib import Path

from lab.kernel.apt import Archive, archives, parse_list, parse_sources, render

DEB822 = """\
# the distribution
Types: deb deb-src
URIs: http://mirror.test/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/some.gpg

Types: deb
URIs: http://mirror.test/debian-security
Suites: bookworm-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc

Types: deb
URIs: http://elsewhere.test/
Suites: bookworm
Components: main
Enabled: no

Types: deb-src
URIs: http://sources.test/
Suites: bookworm
Components: main
"""

ONE_LINE = """\
# deb http://off.test/debian bookworm main
deb [arch=amd64 signed-by=/etc/apt/keyrings/k.gpg] http://mirror.test/debian bookworm main non-free # why
deb http://mirror.test/debian-security bookworm-security main
deb-src http://mirror.test/debian bookworm main
deb http://flat.test/ ./
"""


def test_deb822_gives_the_enabled_binary_archives() -> None:
    first, second = parse_sources(DEB822)
    assert first == Archive(
        ("http://mirror.test/debian",),
        ("bookworm", "bookworm-updates"),
        ("main", "contrib"),
        "/usr/share/keyrings/some.gpg",
    )
    assert second.suites == ("bookworm-security",)
    assert second.signed_by.startswith("-----BEGIN")
    assert second.signed_by.endswith("abc")


def test_one_line_format_gives_the_binary_archives() -> None:
    first, second, third = parse_list(ONE_LINE)
    assert first == Archive(
        ("http://mirror.test/debian",), ("bookworm",), ("main", "non-free"), "/etc/apt/keyrings/k.gpg"
    )
    assert second.suites == ("bookworm-security",)
    assert not second.signed_by
    assert third.components == ()


def test_suites_with_newer_kernels_are_added_to_the_main_archive_only() -> None:
    text = render(list(parse_sources(DEB822)), "bookworm")
    main, security = parse_sources(text)
    assert main.suites == ("bookworm", "bookworm-updates", "sid", "stable")
    assert security.suites == ("bookworm-security",)
    assert security.signed_by.endswith("abc")


def test_foreign_archives_are_left_out() -> None:
    foreign = Archive(("http://other.test",), ("nodistro",), ("main",))
    flat = Archive(("http://flat.test/",), ("./",), ())
    assert render([foreign, flat], "bookworm") == ""


def test_both_formats_are_read_and_other_files_are_not(tmp_path: Path) -> None:
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (tmp_path / "sources.list").write_text(ONE_LINE)
    (parts / "debian.sources").write_text(DEB822)
    (parts / "old.list.disabled").write_text(ONE_LINE)
    assert len(archives(tmp_path)) == 3 + 2
