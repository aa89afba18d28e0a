"""The guides' commands, typed as they stand: they do what the pages say, and print it where a page shows it."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.blocks import blocks, tutorial
from tests.docs.register import IN_A_PROCESS, NIGHTLY, SESSIONS, TUTORIALS, TYPED
from tests.kinds import Type
from tests.terminal import Terminal

# What a page shows of a command's answer.
SHOWN = {command: said for block in blocks() for command, said in block.steps() if said}
PROMPT = re.compile(r"(?P<prompt>\w+:~# |mininet> )(?P<typed>.*)")


def lasting(said: str) -> str:
    """Without what another machine's clock, or another kernel's last digits, may change, and without spaces at ends."""
    return re.sub(r" in [\d.]+s|\s+(?:[+−]|< )?[\d.]+ %| +$", "", said, flags=re.MULTILINE).strip()


def type_and_compare(type_in: Type, command: str, said: str) -> None:
    done = type_in(command)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    assert lasting(said) in lasting(f"{done.stdout}{done.stderr}"), command


@pytest.mark.guest
@pytest.mark.usefixtures("kernel")
def test_commands_that_take_seconds(type_in: Type, type_here: Type) -> None:
    for command in TYPED:
        typed = type_in if command.startswith(IN_A_PROCESS) else type_here
        type_and_compare(typed, command, SHOWN.get(command, ""))


@pytest.mark.guest
@pytest.mark.parametrize(
    ("page", "part"), [pytest.param(*each, marks=[pytest.mark.nightly] * (each in NIGHTLY)) for each in TUTORIALS]
)
def test_a_tutorial_prints_what_it_says(
    page: str, part: str, type_in: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says of running in its sentences is for a reader."""
    for block in tutorial(page, part):
        if block.language == "console":
            for command, said in block.steps():
                type_and_compare(type_in, command, said)
        elif block.language == "pycon":
            monkeypatch.chdir(tmp_path)
            found = doctest.DocTestParser().get_doctest(block.text, {}, "tutorial", page, 0)
            assert doctest.DocTestRunner().run(found).failed == 0
        elif block.language == "python" and not block.file:
            monkeypatch.chdir(tmp_path)
            exec(compile(block.text, page, "exec"), {})  # the project's own
        elif block.file:
            (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.file).write_text(block.text)


@pytest.mark.guest
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("command", SESSIONS)
def test_a_session_goes_as_shown(command: str, terminal: Callable[..., Terminal]) -> None:
    """Each line that is shown appears, each that is typed is answered by the prompt, and Ctrl-D ends it."""
    session = terminal(*command.split()[1:])
    for line in SHOWN.get(command, "").splitlines():
        if typed := PROMPT.fullmatch(line):
            session.until(typed["prompt"])
            session.type(f"{typed['typed']}\n")
            session.until(typed["typed"])
        else:
            session.until(line)
    session.until("mininet> " if " mn " in command else ":~# ")
    session.type("\x04")
    assert session.left() == (0, [])


def test_what_pages_show_is_compared() -> None:
    for command in ("lab graph shared-bottleneck -o shared-bottleneck.svg", "lab run tcp-bottleneck/window-plateau"):
        assert len(SHOWN[command].splitlines()) > 8
    assert "root of rival" in SHOWN["lab shell shared-bottleneck rival"]
