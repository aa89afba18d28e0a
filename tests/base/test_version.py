"""Versions are read and ordered as Debian writes them, and read from a tree's Makefile."""

from __future__ import annotations

import pytest

from lab.base import version


def test_a_release_candidate_comes_before_its_release() -> None:
    newest_last = [
        "6.9.1-1",
        "6.12.117-1",
        "7.2.13-1",
        "7.3~rc6-1~exp1",
        "7.3~rc7-1~exp1",
        "7.3.0",
    ]
    assert sorted(["7.3.0", *newest_last[:-1]], key=version.order) == newest_last


@pytest.mark.parametrize(("text", "series"), [("7.3~rc7-1~exp1", "7.3"), ("6.12", "6.12"), ("mine", "")])
def test_a_series_is_what_a_version_starts_with(text: str, series: str) -> None:
    assert version.series(text) == series


def test_a_makefile_says_which_kernel_it_is() -> None:
    assert version.of_makefile("VERSION = 7\nPATCHLEVEL = 2\nSUBLEVEL = 13\nEXTRAVERSION =\n") == "7.2.13"
    assert version.of_makefile("all:\n\techo 7.2\n") == ""
