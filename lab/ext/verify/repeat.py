"""Rerun trials from a store on this machine, from their recorded inputs only, without their experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from lab.errors import LabError, MachineError
from lab.guest.trial import HOST, Trial
from lab.machine.kernel import Budget, Kernel, UmlKernel, installed_kernels
from lab.machine.kernel.uml import intact
from lab.machine.userland.cache import load
from lab.machine.userland.lock import NAMES, locked
from lab.machine.userland.seen import differing
from lab.record.record import Record
from lab.record.store import Store
from lab.runner import programs, tools
from lab.runner.schedule import Progress, Runner
from lab.runner.tools import ToolMissing


class CannotRepeat(MachineError):
    """Raised if this machine lacks the kernel or a tool of the trial."""


def repeatable(trial: Trial) -> bool:
    """Return whether a rerun must give the same bytes, which is true only in virtual time."""
    return trial.clock == "virtual"


def repeat(
    records: Iterable[Record],
    scratch: Path,
    jobs: int | None,
    budget: Budget,
    progress: Progress,
    given: Iterable[Kernel] = (),
    trust: bool = False,
) -> dict[str, Record | LabError]:
    """Rerun `repeatable` trials. Return, by address, the new records in a store at `scratch`, or the errors.

    First, the function compares every byte of their kernels and userlands with the hashes; a userland is not read again
    if the file system shows no change since the last read. `given` kernels take precedence over kernels that are
    installed here. C sources are compiled before any trial runs. Compilation is confined, unless the machine does not
    support this and the user does `trust` the sources. Raises RecordError.
    """
    kernels = {kernel.id: kernel for kernel in (*installed_kernels(), *given)}
    userlands = cache(_userland)
    outcomes: dict[str, Record | LabError] = {}
    todo = []
    for record in records:
        try:
            _check(record, kernels, userlands)
            programs.compile_all(record.trial.workload, trust)
            todo.append(record.trial)
        except (MachineError, programs.CompileError) as error:
            outcomes[record.address] = error
            progress.ended(record.trial, error, False)
    return {**outcomes, **Runner(Store(scratch), list(kernels.values()), jobs, budget).run(todo, progress)}


def _check(record: Record, kernels: dict[str, Kernel], userlands: Callable[[str], str]) -> None:
    trial = record.trial
    if trial.kernel.get("id") not in kernels:
        name, version, ident = (trial.kernel.get(key, "?") for key in ("name", "version", "id"))
        lacks, cure = ("fetched", "fetch") if trial.on == "vm" else ("built", "build")
        what = f"kernel {name} ({version}, id {ident})"
        raise CannotRepeat(f"{what} is not {lacks} here; run `lab kernel {cure}`, then retry")
    kernel = kernels[trial.kernel["id"]]
    if kernel.on != trial.on:
        raise CannotRepeat(f"its kernel {kernel.id} runs with --on {kernel.on}, not --on {trial.on}")
    if isinstance(kernel, UmlKernel):
        try:
            intact.check(kernel.path, every_byte=True)
        except MachineError as altered:
            raise CannotRepeat(str(altered)) from None
    here = kernel.describe()
    if trial.on == "vm" and here != trial.kernel:
        raise CannotRepeat(f"it ran on {trial.kernel.get('machine')}, and this machine has {here['machine']}")
    if trial.userland != HOST:
        if blocker := userlands(trial.userland):
            raise CannotRepeat(blocker)
        return
    try:
        tools.differing(trial.tools)
    except ToolMissing as missing:
        raise CannotRepeat(str(missing)) from None


def _userland(ident: str) -> str:
    """Return the reason why trials cannot run in this userland, or "" if the userland is present and intact."""
    found = load(ident)
    if found is None:
        ours = [name for name in NAMES if locked(name).id == ident]
        cure = (
            f"run `lab userland build {ours[0]}`, then retry" if ours else "run the lab version that made these records"
        )
        return f"userland {ident} is not here; {cure}"
    if altered := differing(found):
        return f"userland {ident} was altered (at least {altered[0]}); remove {found.tree.parent}, then build it again"
    return ""


def other_tools(trial: Trial) -> tuple[str, ...]:
    """Return the names of the tools whose version here differs from the trial's version, including the lab's code.

    Raises MachineError.
    """
    return tools.differing(trial.tools)
