"""The kernel that claims need first is built first, and what the network takes for it goes on beside."""

from __future__ import annotations

import multiprocessing
import os
import re
from pathlib import Path
from typing import Any

import pytest

from lab.app import building
from lab.errors import InputError, MachineError
from lab.machine.kernel.uml import builder, source
from lab.machine.kernel.uml.compiling import CPU_SECONDS
from lab.machine.userland import builder as userland
from tests.runner.test_variants import until

KERNEL: Any = object()


class Machine:
    """A machine that notes in files what was fetched and made there, and by which process."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place
        self.waits = False  # whether what is made here waits for what comes beside it
        monkeypatch.setattr(building, "folder", lambda: place)
        monkeypatch.setattr(building, "_here", lambda _: True)
        monkeypatch.setattr(builder, "built", lambda _: None)
        monkeypatch.setattr(builder, "build", self.build)
        monkeypatch.setattr(userland, "build", self.userland)
        monkeypatch.setattr(source, "remembered", lambda *_: None)
        monkeypatch.setattr(source, "resolve", lambda *_: None)
        monkeypatch.setattr(source, "fetch", lambda *_: self.note("source"))

    def note(self, what: str) -> None:
        (self.place / what).write_text(str(os.getpid()))

    def userland(self, name: str, _: object) -> None:
        if self.waits and name == "compiler":
            until(self.place / "source")
        self.note(name)

    def build(self, *_: object, **__: object) -> Any:
        if self.waits:
            until(self.place / "guest")
        self.note("kernel")
        return KERNEL

    def made(self) -> dict[str, bool]:
        """What is there, and whether this process made it."""
        here = str(os.getpid())
        return {file.name: file.read_text() == here for file in self.place.iterdir() if file.name != "lock"}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("here", "cores", "said"), [(True, 1, "a minute"), (False, 1, "7 minutes"), (False, 2, "4 minutes")]
)
def test_the_first_verdict_is_announced(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    here: bool,
    cores: int,
    said: str,
) -> None:
    monkeypatch.setattr(builder, "built", lambda _: KERNEL if here else None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    assert building.ready(None) is KERNEL
    assert capsys.readouterr().err.splitlines()[0] == f"first verdict in about {said}"
    if here:
        assert machine.made() == {"kernel": True}


def test_the_source_comes_beside_the_compiler_and_guests_programs_beside_the_kernel(machine: Machine) -> None:
    machine.waits = True
    assert building.ready(None) is KERNEL
    assert machine.made() == {"keyring": True, "source": False, "compiler": True, "guest": False, "kernel": True}


def test_what_trials_do_without_is_not_made(machine: Machine) -> None:
    building.ready(None, sealed=False)
    assert machine.made() == {"keyring": True, "source": False, "compiler": True, "kernel": True}


def test_a_source_that_is_known_is_not_looked_for_by_keys(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "remembered", lambda *_: KERNEL)
    building.ready(None, sealed=False)
    assert machine.made() == {"source": False, "compiler": True, "kernel": True}


def test_what_guests_boot_from_is_made_while_the_source_still_comes(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*_: object) -> None:
        until(machine.place / "guest")
        machine.note("source")

    monkeypatch.setattr(source, "fetch", fetch)
    assert building.ready(None) is KERNEL
    assert machine.made()["source"] is False


def test_a_compiler_that_cannot_be_made_ends_what_goes_on_beside(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(name: str, _: object) -> None:
        if name == "compiler":
            until(machine.place / "begun")
            raise MachineError("a wrong hash")

    def fetch(*_: object) -> None:
        machine.note("begun")
        until(machine.place / "never")

    monkeypatch.setattr(userland, "build", build)
    monkeypatch.setattr(source, "fetch", fetch)
    with pytest.raises(MachineError, match="a wrong hash"):
        building.ready(None)
    assert multiprocessing.active_children() == []


@pytest.mark.usefixtures("machine")
def test_what_does_not_come_is_left_to_who_needs_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fetch(*_: object) -> None:
        raise MachineError("the mirror does not answer")

    monkeypatch.setattr(source, "fetch", fetch)
    assert building.ready(None) is KERNEL
    assert "mirror" not in capfd.readouterr().err


def test_a_kernel_by_another_name_cannot_be_made() -> None:
    with pytest.raises(InputError, match=r"'7\.2-mss' is not a series"):
        building.ready("7.2-mss")


@pytest.mark.parametrize("guide", ["docs/classroom.md", "docs/learning.md"])
def test_guides_promise_what_the_lab_expects(guide: str) -> None:
    text = (Path(__file__).parents[2] / guide).read_text()
    assert re.findall(r"\d+ minutes(?= on 2 idle cores)", text) == [building.minutes(CPU_SECONDS / 2)]
