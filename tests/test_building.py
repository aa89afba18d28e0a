"""A build's progress is readable with and without a terminal."""

from __future__ import annotations

import io

from lab.building import shown


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


def test_a_bar_on_a_terminal() -> None:
    text = run(Terminal())
    assert "compiling 7.2" in text
    assert "100/100" in text
