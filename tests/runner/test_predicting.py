"""Predictions are made by processes of their own, which end with the run, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.runner.predicting import predicting


def trial(run: str) -> Any:
    return SimpleNamespace(run_address=run)


def note(file: Path) -> None:
    with file.open("a") as out:
        out.write(f"{os.getpid()}\n")


def makers(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()]


def alive(processes: Sequence[int]) -> list[int]:
    def runs(process: int) -> bool:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        return state != "Z"  # ended, and nobody has asked how

    return [each for each in processes if runs(each)]


def test_all_that_a_run_is_about_is_made_by_another_process(tmp_path: Path) -> None:
    file = tmp_path / "made"
    with predicting({"a": [partial(note, file)] * 3, "b": []}, 2) as predict:
        predict(trial("b"))
        assert not file.exists()
        predict(trial("a"))
        (maker,) = set(makers(file))
        assert len(makers(file)) == 3
        assert maker != os.getpid()
    assert not alive([maker])


def test_as_many_are_made_at_a_time_as_there_are_processes(tmp_path: Path) -> None:
    def meet(mine: str, other: str) -> None:
        (tmp_path / mine).touch()
        deadline = time.monotonic() + 60
        while not (tmp_path / other).exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        (tmp_path / f"{mine}-met").touch()

    tasks = {"a": [partial(meet, "a", "b")], "b": [partial(meet, "b", "a")]}
    with predicting(tasks, 2) as predict, ThreadPoolExecutor(2) as pool:
        list(pool.map(predict, map(trial, "ab")))
    assert (tmp_path / "a-met").exists()
    assert (tmp_path / "b-met").exists()


@pytest.mark.parametrize("processes", [0, 1])
def test_alone_it_is_made_here(tmp_path: Path, processes: int) -> None:
    with predicting({"a": [partial(note, tmp_path / "made")]}, processes) as predict:
        predict(trial("a"))
    assert makers(tmp_path / "made") == [os.getpid()]


def test_what_a_process_does_not_make_is_made_here(tmp_path: Path) -> None:
    here = os.getpid()

    def make() -> None:
        note(tmp_path / "made")
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)

    with predicting({"a": [make]}, 2) as predict:
        for _ in range(3):
            predict(trial("a"))
    assert makers(tmp_path / "made").count(here) == 3


SCRIPT = """
import os, time
from types import SimpleNamespace
from threading import Thread
from lab.runner.predicting import predicting
def make():
    os.write(1, f"{os.getpid()}\\n".encode())  # both at once: each line whole
    time.sleep(600)
with predicting({"a": [make], "b": [make]}, 2) as predict:
    for run in "ab":
        Thread(target=predict, args=(SimpleNamespace(run_address=run),), daemon=True).start()
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_they_end_with_the_run(number: signal.Signals) -> None:
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        assert run.stdout is not None
        processes = [int(run.stdout.readline()) for _ in "ab"]
        assert len(alive(processes)) == 2
        run.send_signal(number)
        run.wait(60)
        deadline = time.monotonic() + 60
        while alive(processes) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not alive(processes)


def test_what_fails_there_is_tried_here_and_nothing_said_twice(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    here = os.getpid()

    def fail() -> None:
        note(tmp_path / "tried")
        if os.getpid() != here:
            raise OSError(5, "Input/output error")

    with predicting({"a": [fail]}, 2) as predict:
        predict(trial("a"))
    assert makers(tmp_path / "tried")[1:] == [here]
    assert capfd.readouterr().err == ""
