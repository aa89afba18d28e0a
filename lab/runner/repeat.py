"""Run trials of a store once more, here: from their recorded inputs only, without the experiments that made them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lab.errors import LabError, MachineError
from lab.kernel import Budget, Kernel, installed_kernels
from lab.record.record import Record
from lab.record.store import Store
from lab.record.trial import HOST, Trial
from lab.runner import tools
from lab.runner.schedule import Progress, Runner
from lab.runner.tools import ToolMissing
from lab.userland.cache import load
from lab.userland.lock import NAMES, locked

__all__ = ["CannotRepeat", "other_tools", "repeat", "repeatable"]


class CannotRepeat(MachineError):
    """This machine lacks the kernel or a tool of the trial."""


def repeatable(trial: Trial) -> bool:
    """Say whether another run must give the same bytes: only in virtual time."""
    return trial.clock == "virtual"


def repeat(
    records: Iterable[Record],
    scratch: Path,
    jobs: int | None,
    budget: Budget,
    progress: Progress,
    given: Iterable[Kernel] = (),
) -> dict[str, Record | LabError]:
    """Run `repeatable` trials again; return address -> the new record in a store at `scratch`, or why there is none.

    `given` kernels come before those that are installed here. Raises RecordError.
    """
    kernels = {kernel.id: kernel for kernel in (*installed_kernels(), *given)}
    outcomes: dict[str, Record | LabError] = {}
    todo = []
    for record in records:
        try:
            _check(record, kernels)
            todo.append(record.trial)
        except CannotRepeat as error:
            outcomes[record.address] = error
            progress.ended(record.trial, error, False)
    return {**outcomes, **Runner(Store(scratch), list(kernels.values()), jobs, budget).run(todo, progress)}


def _check(record: Record, kernels: dict[str, Kernel]) -> None:
    trial = record.trial
    if trial.kernel.get("id") not in kernels:
        name, version, ident = (trial.kernel.get(key, "?") for key in ("name", "version", "id"))
        lacks, cure = ("fetched", "fetch") if trial.on == "vm" else ("built", "build")
        what = f"kernel {name} ({version}, id {ident})"
        raise CannotRepeat(f"{what} is not {lacks} here: `lab kernel {cure}`, then again")
    here = kernels[trial.kernel["id"]].describe()
    if trial.on == "vm" and here != trial.kernel:
        raise CannotRepeat(f"it ran under {trial.kernel.get('machine')}, and here is {here['machine']}")
    if trial.userland != HOST:
        if load(trial.userland) is None:
            ours = [name for name in NAMES if locked(name).id == trial.userland]
            cure = (
                f"`lab userland build {ours[0]}`, then again" if ours else "the lab that made these records builds it"
            )
            raise CannotRepeat(f"userland {trial.userland} is not here: {cure}")
        return
    try:
        tools.differing(trial.tools)
    except ToolMissing as missing:
        raise CannotRepeat(str(missing)) from None


def other_tools(trial: Trial) -> tuple[str, ...]:
    """Name the tools whose version here is another one, the lab's own code among them. Raises MachineError."""
    return tools.differing(trial.tools)
