"""A build's progress is readable with and without a terminal."""

from __future__ import annotations

import io
import threading
from pathlib import Path

import pytest

from lab.base.building import Silent, alone, dispose, shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(stream: io.StringIO) -> str:
    with shown(stream) as progress:
        progress.say("compiling 7.2")
        for done in range(1, 101):
            progress.step(done, 100)
    return stream.getvalue()


def test_lines_without_a_terminal() -> None:
    lines = run(io.StringIO()).splitlines()
    assert lines == ["compiling 7.2", *(f"compiling 7.2: {tenth} %" for tenth in range(10, 101, 10))]


def test_a_long_stage_says_how_long_it_will_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 30 s for each of ten parts, 4.5 minutes are left after the first: Python rounds to the even one."""
    now = iter(range(0, 100_000, 30))
    monkeypatch.setattr("lab.base.building.time.monotonic", lambda: next(now))
    stream = io.StringIO()
    with shown(stream) as progress:
        next(now)  # nothing of the time before a stage counts
        progress.say("compiling 7.2")
        for done in range(1, 11):
            progress.step(done, 10)
    said = [line.partition(" %")[2] for line in stream.getvalue().splitlines()[1:]]
    assert said == [f", about {minutes} min left" for minutes in (4, 4, 4, 3, 2, 2, 2, 1)] + ["", ""]


def test_a_bar_on_a_terminal() -> None:
    text = run(Terminal())
    assert "compiling 7.2" in text
    assert "100/100" in text


def test_what_is_disposed_of_is_gone_at_the_end_and_what_was_cut_short_at_the_next_build(tmp_path: Path) -> None:
    place, home = tmp_path / "home/.build-1/tree", tmp_path / "home"
    (place / "net").mkdir(parents=True)
    (place / "net/tcp.c").touch()
    dispose(place, home)
    assert not place.exists(), "the kernel's own folder can be kept at once"
    for thread in threading.enumerate():
        if thread.name == "dispose":
            thread.join()
    assert [path.name for path in home.iterdir()] == [".build-1"]
    (home / ".build-gone-1-1/tree").mkdir(parents=True)
    with alone(home, Silent()):
        assert [path.name for path in home.iterdir()] == ["lock"]
