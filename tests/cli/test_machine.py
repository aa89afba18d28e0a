"""What the machine fails is said in one message; what is a mistake of ours is not hidden."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest
import typer

from lab import cli
from lab.cli import assembly
from tests.runner.killing import LAB


def fails(error: BaseException) -> typer.Typer:
    failing = typer.Typer(pretty_exceptions_enable=False)

    @failing.command()
    def command() -> None:
        raise error

    return failing


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "results/x"), "lab: results/x: No space left on device"),
        (OSError(errno.EIO, os.strerror(errno.EIO)), "lab: Input/output error"),
        (BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)), "lab: Resource temporarily unavailable"),
        (MemoryError(), "lab: this machine has no memory left"),
    ],
)
def test_a_call_that_the_machine_fails_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, said: str
) -> None:
    monkeypatch.setattr(assembly, "assembled", lambda *_: fails(error))
    monkeypatch.setattr(sys, "argv", ["lab"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.long
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_answer_that_does_not_fit_on_the_disk_is_one_message(options: list[str]) -> None:
    with open("/dev/full", "w") as full:
        run = subprocess.run([LAB, "list", *options], stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 3
    assert "Traceback" not in run.stderr
    assert options or run.stderr.startswith("lab: No space left on device")


def test_a_mistake_of_ours_shows_where(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = fails(FileNotFoundError(errno.ENOENT, "it was never made"))
    monkeypatch.setattr(assembly, "assembled", lambda *_: failing)
    monkeypatch.setattr(sys, "argv", ["lab"])
    with pytest.raises(FileNotFoundError):
        cli.main()
