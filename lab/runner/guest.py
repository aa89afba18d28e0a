"""Run one trial in a guest of its own, from its inputs to a record in the store."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec

from lab.errors import LabError, MachineError
from lab.kernel import Budget, Guest, GuestError, Kernel
from lab.kernel.root import of_host
from lab.record.date import now
from lab.record.plain import ready
from lab.record.record import Record
from lab.record.store import Store
from lab.record.trial import HOST, Trial, canonical
from lab.runner import programs
from lab.runner.code import sealed
from lab.runner.memory import memory_of
from lab.spec.network import Network
from lab.units import from_plain
from lab.workload.program import COMPILED


class _Result(msgspec.Struct, frozen=True):
    """Holds what a trial says at its end: what it read back, or why it failed."""

    environment: dict[str, Any] | None = None
    invalid: list[str] = []
    error: str = ""
    exit_code: Annotated[int, msgspec.Meta(ge=1, le=3)] = 1


KEPT = "failed"  # the folder below the store that keeps the consoles of failed trials
ready(Network, _Result)  # a run has threads


class TrialFailed(LabError):
    """The trial ran without a result: a tool failed, or the fabric could not be built."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def run(
    trial: Trial,
    store: Store,
    kernel: Kernel,
    cpu: int,
    budget: Budget,
    started: Callable[[Guest], None],
    place: Mapping[str, Any],
) -> Record:
    """Perform `trial` in a guest on host CPU `cpu` and keep its record; `started` is called with the guest.

    `place` says when it ran among others, for the record's host.json.

    Raises TrialFailed, GuestError (its console is kept), MachineError.
    """
    with store.stage(trial) as stage:
        (stage.path / "trial.json").write_bytes(canonical(trial))
        programs.place(trial.workload, trial.tools, stage.path / COMPILED)
        root = of_host() if trial.userland == HOST else sealed(trial.userland)
        command = [root.python, "-m", "lab.runner.perform", "."]
        begun = now()
        try:
            with Guest(
                kernel,
                stage.path,
                command,
                seed=trial.seed,
                clock=trial.clock,
                memory=memory_of(from_plain(trial.network, Network)),
                cpu=cpu,
                budget=budget,
                root=root,
            ) as guest:
                started(guest)
                ended = guest.wait()
        except GuestError as error:
            error.console = keep(error.console, store, trial)
            raise
        result = _result(stage.path)
        if result is None or result.error:
            keep(ended.console, store, trial)
        if result is None:
            raise TrialFailed(f"the trial ended with status {ended.status} and no result", 1)
        if result.error:
            raise TrialFailed(result.error, result.exit_code)
        host = {
            "started": begun,
            "wall_seconds": round(ended.wall_seconds, 3),
            "cpu_seconds": round(ended.cpu_seconds, 3),
            "guest_seconds": ended.guest_seconds,
            "contained": ended.contained,
            **place,
        }
        (stage.path / "result.json").unlink(missing_ok=True)
        shutil.rmtree(stage.path / COMPILED, ignore_errors=True)  # only a trial with sources has it
        return stage.commit(result.environment or {}, result.invalid, host)


def _result(folder: Path) -> _Result | None:
    """Return what the guest wrote; whatever runs there may have written it. Raises TrialFailed, MachineError."""
    try:
        written = (folder / "result.json").read_bytes()
    except FileNotFoundError:
        return None
    try:
        result = msgspec.json.decode(written, type=_Result)
    except msgspec.ValidationError as error:
        raise TrialFailed(f"the trial's result is none: {error}", 1) from None
    except (ValueError, RecursionError):
        raise MachineError(f"the trial's result did not reach {folder} whole: is its disk full?") from None
    if not result.error and result.environment is None:
        raise TrialFailed("the trial's result is none: it has neither an environment nor an error", 1)
    return result


def keep(console: Path, store: Store, trial: Trial) -> Path:
    """Copy the console of a failed trial out of its folder, which is about to go."""
    kept = store.root / KEPT / f"{trial.claim.replace('/', '.')}.{trial.arm}.{trial.address[:12]}.log"
    with suppress(OSError):  # on a full disk, say: then only the message is left
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(console, kept)
    return kept
