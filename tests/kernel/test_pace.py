"""What a build took is remembered, for each series, and expected of the next one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab.kernel.uml.pace import FILE, USUAL, Pace, expected, note


def test_the_last_build_of_a_series_counts(tmp_path: Path) -> None:
    for pace in (Pace(900, 300.0), Pace(910, 250.0)):
        note(tmp_path, "7.2", pace)
    note(tmp_path, "6.12", Pace(800, 200.0))
    assert expected(tmp_path, "7.2") == Pace(910, 250.0)
    assert expected(tmp_path, "6.12") == Pace(800, 200.0)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_another_series_says_more_than_nothing(tmp_path: Path) -> None:
    note(tmp_path, "7.2", Pace(900, 300.0))
    assert expected(tmp_path, "6.1") == Pace(900, 300.0)


@pytest.mark.parametrize("text", [None, "", "[]", "1", '{"7.2": 3}', '{"7.2": {"objects": 1}}'])
def test_without_memory_it_depends_on_the_cpus(
    tmp_path: Path, text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        (tmp_path / FILE).write_text(text)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))
    assert expected(tmp_path, "7.2") == Pace(USUAL.objects, USUAL.seconds / 4)
