"""Variants are built beside the trials, by a process that ends with the run, and claims run as these come."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.base import building as builds
from lab.errors import MachineError
from lab.machine.kernel import BuildFailed, KernelMissing
from lab.machine.kernel.uml import builder
from lab.runner import variants
from lab.runner.progress import ProgressLines
from lab.runner.variants import Variants
from lab.spec.loaded import LoadedExperiment
from lab.spec.variant import ResolvedVariant
from tests.runner.test_predicting import alive

SECONDS = 60.0


def experiment(ident: str, *patches: str) -> Any:
    """An experiment with a case on the run's own kernel, and one on each of these variants."""
    cases = [SimpleNamespace(kernel=ResolvedVariant(patches=(Path(patch),))) for patch in patches]
    return SimpleNamespace(id=ident, cases=lambda: (SimpleNamespace(kernel=None), *cases))


class Machine:
    """A machine with a kernel, on which variants are built when they may be, and not before."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.kernel: Any = SimpleNamespace(name="7.2", variant=self.variant)

    def variant(self, wanted: ResolvedVariant) -> None:
        if not (self.place / f"{wanted.patches[0]}.built").exists():
            raise KernelMissing(str(wanted))

    def allow(self, *patches: str) -> None:
        for patch in patches:
            (self.place / f"{patch}.allowed").touch()

    def build(self, series: str, patches: Sequence[Path], *_: object, progress: builds.Progress, **__: object) -> None:
        progress.say(f"compiling {series}-{patches[0]}")
        progress.step(1, 2)
        until(self.place / f"{patches[0]}.allowed")
        if patches[0].name == "bad":
            raise BuildFailed("kernel 7.2-bad: make linux failed: exit status 2", Path("failed.log"))
        if patches[0].name == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        (self.place / f"{patches[0]}.built").write_text(f"{os.getpid()} {os.nice(0)}")


def until(file: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while not file.exists():
        assert time.monotonic() < deadline, file
        time.sleep(0.01)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine(tmp_path)
    monkeypatch.setattr(builder, "build", found.build)
    return found


@contextmanager
def coming(machine: Machine, experiments: Sequence[Any]) -> Iterator[Variants]:
    with variants.beside(experiments, machine.kernel) as found:
        assert found is not None
        yield found


def names(part: Sequence[LoadedExperiment]) -> str:
    return " ".join(each.id for each in part)


def test_claims_run_as_their_kernels_come(machine: Machine) -> None:
    experiments = [experiment("a", "mss"), experiment("b"), experiment("c", "mss", "x"), experiment("d")]
    with coming(machine, experiments) as found:
        parts = found.parts(experiments)
        assert names(next(parts)) == "b d"
        machine.allow("mss")
        assert names(next(parts)) == "a"
        machine.allow("x")
        assert names(next(parts)) == "c"
        assert not list(parts)
        found.check()


def test_a_process_of_its_own_builds_them_which_is_gone_before_what_comes_last(machine: Machine) -> None:
    experiments = [experiment("a", "mss")]
    machine.allow("mss")
    with coming(machine, experiments) as found:
        assert [names(part) for part in found.parts(experiments)] == ["a"]
        process, nice = map(int, (machine.place / "mss.built").read_text().split())
        assert process != os.getpid()
        assert nice > os.nice(0) or nice == 19, "trials go first"
        assert not alive([process])


def test_what_is_here_is_not_built(machine: Machine) -> None:
    (machine.place / "mss.built").touch()
    with variants.beside([experiment("a", "mss"), experiment("b")], machine.kernel) as found:
        assert found is None


def test_a_build_that_fails_is_said_at_once_and_ends_the_run_after_all_that_could_run(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    experiments = [experiment("a", "bad"), experiment("b"), experiment("c", "mss")]
    machine.allow("bad", "mss")
    said = "kernel 7.2-bad: make linux failed: exit status 2; the log is failed.log"
    with coming(machine, experiments) as found:
        assert [names(part) for part in found.parts(experiments)] == ["b"]
        assert capsys.readouterr().err.splitlines()[-1] == said
        with pytest.raises(BuildFailed) as failed:
            found.check()
    assert (str(failed.value), failed.value.exit_code) == (said, BuildFailed.exit_code)


def test_a_builder_that_is_killed_is_named(machine: Machine) -> None:
    experiments = [experiment("a", "killed")]
    machine.allow("killed")
    with coming(machine, experiments) as found:
        assert not list(found.parts(experiments))
        with pytest.raises(MachineError, match=r"builder of kernels was ended \(status -9\)"):
            found.check()


def test_it_is_shown_beside_the_trials_and_alone_after_them(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    experiments = [experiment("a", "mss"), experiment("b", "x")]
    with coming(machine, experiments) as found:
        parts = found.parts(experiments)
        display = ProgressLines(1, sys.stderr)
        with found.shown(display):
            said = ""
            while "50 %" not in said:
                said += capsys.readouterr().err
            display.remark("a/b: reproduced")
        machine.allow("mss", "x")
        assert [names(part) for part in parts] == ["a", "b"]
    assert said.splitlines() == ["compiling 7.2-mss", "compiling 7.2-mss: 50 %"]
    alone = ["compiling 7.2-mss", "compiling 7.2-mss: 50 %", "compiling 7.2-x", "compiling 7.2-x: 50 %"]
    assert capsys.readouterr().err.splitlines() == ["a/b: reproduced", *alone]


SCRIPT = """
import os, sys, time
from pathlib import Path
from types import SimpleNamespace
from lab.base.building import terminable
from lab.machine.kernel import KernelMissing
from lab.machine.kernel.uml import builder
from lab.spec.variant import ResolvedVariant
from lab.runner import variants
def build(*_, **__):
    with terminable():
        try:
            Path(sys.argv[1]).write_text(str(os.getpid()))
            os.write(1, b"half\\n")
            time.sleep(600)
        finally:
            Path(sys.argv[1]).unlink()
def variant(wanted):
    raise KernelMissing("mss")
builder.build = build
case = SimpleNamespace(kernel=ResolvedVariant(patches=(Path("mss"),)))
with variants.beside([SimpleNamespace(cases=lambda: [case])], SimpleNamespace(name="7.2", variant=variant)):
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_build_ends_with_the_run_and_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    half = tmp_path / "half"
    command = [sys.executable, "-c", SCRIPT, str(half)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "half\n"
        process = int(half.read_text())
        run.send_signal(number)
        run.wait(SECONDS)
        deadline = time.monotonic() + SECONDS
        while (alive([process]) or half.exists()) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not alive([process])
        assert not half.exists()
