"""What a kernel decides about the trials that are planned on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lab.errors import InputError, MachineError
from lab.kernel import Start
from lab.kernel.root import Root
from lab.runner.plan import Settings, plan
from lab.spec.clock import Clock, Place
from lab.spec.find import find
from lab.units import Size


class Counted:
    """A kernel that is there as it is, on a clock of counted instructions."""

    on: Place = "vm"
    name, id = "6.1", "0" * 16
    clocks: tuple[Clock, ...] = ("virtual",)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "version": "6.1.1-1", "id": self.id, "hz": 250, "patches": []}

    def variant(self, patches: Sequence[Path] = (), hz: int | None = None) -> Counted:
        raise MachineError(f"no variant: {patches} {hz}")

    def start(self, folder: Path, seed: int, clock: Clock, memory: Size, root: Root) -> Start:  # noqa: ARG002
        raise AssertionError(f"nothing is run here: {folder} {seed} {clock} {memory}")


def test_what_asks_for_real_time_runs_by_the_clock_that_there_is() -> None:
    trials = [trial for each in plan(find(["ack-rate/offload-cost"]), Settings(Counted())) for trial in each.trials]
    assert trials
    assert {(trial.on, trial.clock) for trial in trials} == {("vm", "virtual")}


def test_a_clock_that_a_kernel_has_not_is_refused() -> None:
    with pytest.raises(InputError, match="--on vm has the virtual clock alone"):
        Settings(Counted(), "real")


def test_arms_with_a_kernel_of_their_own_are_skipped_with_the_reason() -> None:
    planned = plan(find(["tcp-nodelay/nagle-stall"]), Settings(Counted()))
    assert all(("no variant" in each.skipped) == (each.case.kernel is not None) for each in planned)
    assert any(each.skipped for each in planned)
    assert any(each.trials for each in planned)
