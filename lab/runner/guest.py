"""Run one trial in its own guest, from its inputs to a record in the store."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec

from lab.base import foreign
from lab.base.owner import is_private
from lab.errors import LabError, MachineError
from lab.guest import outputs
from lab.guest.network import Network
from lab.guest.trial import HOST, Trial, canonical
from lab.guest.workload.program import COMPILED
from lab.machine.kernel import Budget, Guest, GuestError, Kernel
from lab.machine.kernel.root import of_host
from lab.record.date import now
from lab.record.plain import ready
from lab.record.record import LONGEST_TEXT, Record
from lab.record.store import Store
from lab.runner import programs
from lab.runner.code import sealed
from lab.runner.memory import memory_for


class _Result(msgspec.Struct, frozen=True):
    """Holds a trial's final report: the settings that the trial read back, or the reason for its failure."""

    environment: dict[str, Any] | None = None
    invalid: list[str] = []
    error: str = ""
    exit_code: Annotated[int, msgspec.Meta(ge=1, le=3)] = 1


_EXCEPTION = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Exit)\b.*", re.MULTILINE)
_NO_SYSCTL = re.compile(r"sysctl (\S+) = .*: No such file or directory")
RESULT, LONGEST = "result.json", 1 << 20  # the file with a trial's report, and its most bytes
KEPT = "failed"  # the folder below the store that keeps the consoles of failed trials
ready(Network, _Result)  # a run has several threads


class TrialFailed(LabError):
    """Raised if the trial ended without a result: a tool failed, or the network could not be built."""

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
    """Run `trial` in a guest on host CPU `cpu`, and store its record. `started` is called with the guest.

    `place` is the trial's position among other trials, for the record's host.json.

    Raises TrialFailed, MachineError, and GuestError, whose console is stored, or quoted if the store is temporary.
    """
    with store.stage(trial) as stage:
        (stage.path / "trial.json").write_bytes(canonical(trial))
        programs.place(trial.workload, trial.tools, stage.path / COMPILED)
        root = of_host() if trial.userland == HOST else sealed(trial.userland)
        command = [root.python, "-m", "lab.guest.start" if trial.on == "uml" else "lab.guest.perform", "."]
        begun = now()
        try:
            with Guest(
                kernel,
                stage.path,
                command,
                seed=trial.seed,
                clock=trial.clock,
                memory=memory_for(trial),
                cpu=cpu,
                budget=budget,
                root=root,
            ) as guest:
                started(guest)
                ended = guest.wait()
        except GuestError as error:
            error.console = keep(error.console, store, trial)
            if is_private(store.root):  # files kept there are gone before a user can read them
                raise error.quote() from None
            raise
        result = _result(stage.path)
        if result is None or result.error:
            keep(ended.console, store, trial)
        if result is None:
            reason = _last_exception(ended.console)
            raise TrialFailed(f"the trial ended with status {ended.status} and no result{reason}", 1)
        if result.error:
            raise TrialFailed(_of_kernel(result.error, kernel.name), result.exit_code)
        if trial.clock == "real":
            _add_looks(stage.out / outputs.FIDELITY, None if trial.on == "host" else ended.looks)
        host = {
            "started": begun,
            "wall_seconds": round(ended.wall_seconds, 3),
            "cpu_seconds": round(ended.cpu_seconds, 3),
            "guest_seconds": ended.guest_seconds,
            "contained": ended.contained,
            **place,
        }
        (stage.path / RESULT).unlink(missing_ok=True)
        foreign.remove(stage.path / COMPILED)  # only a trial with sources has it
        return stage.commit(result.environment or {}, result.invalid, host)


def _result(folder: Path) -> _Result | None:
    """Return the guest's result. Any program in the guest may have written the result.

    Raises TrialFailed and MachineError.
    """
    try:
        written = foreign.read(folder / RESULT, LONGEST)
    except FileNotFoundError:
        return None
    except foreign.Unfit as error:
        raise TrialFailed(f"the trial has no result: it left {error} as {RESULT}", 1) from None
    try:
        result = msgspec.json.decode(written, type=_Result)
    except msgspec.ValidationError as error:
        raise TrialFailed(f"the trial's result is invalid: {error}", 1) from None
    except (ValueError, RecursionError):
        raise MachineError(f"the trial's result in {folder} is incomplete: its disk may be full") from None
    if not result.error and result.environment is None:
        raise TrialFailed("the trial's result is invalid: it has neither an environment nor an error", 1)
    return result


def _of_kernel(error: str, kernel: str) -> str:
    """Return the guest's error. If the kernel lacks a sysctl, name the kernel."""
    match = _NO_SYSCTL.fullmatch(error)
    return f"kernel {kernel} has no sysctl {match[1]}; leave it out, or run on another kernel" if match else error


def _last_exception(console: Path) -> str:
    """Return ': ' and the last console line that names an exception, or ''."""
    found = _EXCEPTION.findall(foreign.end(console, LONGEST))  # the guest decides its length
    return f": {found[-1].strip()}" if found else ""


def _add_looks(evidence: Path, looks: Sequence[Mapping[str, Any]] | None) -> None:
    """Add the host's observations to the evidence. `looks` is None if the trial itself observed the host.

    Evidence without observations is invalid. No other file changes.
    """
    with suppress(foreign.Unfit, FileNotFoundError, ValueError, RecursionError):
        seen = msgspec.json.decode(foreign.read(evidence, LONGEST_TEXT))
        if isinstance(seen, dict):
            evidence.unlink()
            evidence.write_bytes(msgspec.json.encode({**seen, "looks": looks}) + b"\n")


def keep(console: Path, store: Store, trial: Trial) -> Path:
    """Copy a failed trial's console log out of the trial's folder, which is about to be removed."""
    kept = store.root / KEPT / f"{trial.claim.replace('/', '.')}.{trial.arm}.{trial.address[:12]}.log"
    with suppress(OSError, foreign.Unfit):  # for example on a full disk: then only the message is left
        kept.parent.mkdir(parents=True, exist_ok=True)
        with foreign.opened(console) as source, kept.open("wb") as copy:
            shutil.copyfileobj(source, copy)
    return kept
