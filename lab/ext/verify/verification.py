"""Rerun every recorded trial on this machine, and compare the outputs byte by byte."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Literal

from lab.app.recorded import claim_of, named
from lab.errors import InputError, LabError, MachineError
from lab.ext.verify.repeat import other_tools, repeat, repeatable
from lab.machine.kernel import Budget, GuestTimeout, Kernel
from lab.record.identity import first_difference
from lab.record.record import Record, RecordError
from lab.record.store import Store
from lab.runner.progress import name, shown
from lab.spec.errors import suggestion


@dataclass(frozen=True)
class CheckedTrial:
    """Holds whether a trial reproduced its bytes and, if not, the places where they differ."""

    address: str
    trial: str
    outcome: Literal["identical", "differs", "damaged", "not repeated", "not picked", "real time"]
    detail: str = ""


@dataclass(frozen=True)
class Verification:
    """Holds the outcome of every trial."""

    checked: tuple[CheckedTrial, ...]

    @property
    def exit_code(self) -> int:
        """Return 1 if a byte differs or a record is damaged, 3 if this machine could not repeat a trial, else 0.

        Real-time trials need not give equal bytes, so the exit code ignores them. A store with only real-time trials
        gives 3.
        """
        outcomes = {each.outcome for each in self.checked}
        if outcomes & {"differs", "damaged"}:
            return 1
        return 3 if "not repeated" in outcomes or "identical" not in outcomes else 0

    def plain(self) -> dict[str, Any]:
        """Return the outcomes as plain data for JSON."""
        return {
            "trials": [
                {"address": each.address, "trial": each.trial, "outcome": each.outcome, "detail": each.detail}
                for each in self.checked
            ]
        }


def verify(
    results: Path,
    jobs: int | None,
    budget: Budget,
    sample: float = 1.0,
    kernels: Sequence[Kernel] = (),
    trust: bool = False,
    only: str | None = None,
) -> Verification:
    """Rerun trials of the store, and return the outcomes. The trials use a scratch store, which is removed afterwards.

    `only` names a claim, an article, a run, or the first digits of an address. `sample` is the share of repeatable
    trials to run; at least one trial runs. The choice is random, so that the author of the records cannot predict it.
    `kernels` override the kernels installed here. With `trust`, C sources are compiled even if the machine cannot
    confine the compiler. Raises InputError if there is no such record, and MachineError if the machine cannot run any
    trial.
    """
    store = Store(results)
    records = tuple(store)
    if not records:
        raise InputError(f"{results} holds no records; `lab run` makes them")
    if only is not None:
        found = named(only, records)
        if not found:
            known = dict.fromkeys(filter(None, map(claim_of, records)))
            hint = suggestion(only, known) or "; name a claim, an article, a run or an address"
            raise InputError(f"no record in {results} is of '{only}'{hint}")
        records = found
    with store.held():
        return Verification(tuple(_checked(records, store, jobs, budget, sample, kernels, trust)))


def _checked(
    records: Sequence[Record],
    store: Store,
    jobs: int | None,
    budget: Budget,
    sample: float,
    kernels: Sequence[Kernel],
    trust: bool,
) -> Iterator[CheckedTrial]:
    whole, checked = [], {}
    for record in records:
        try:
            record.verify()
        except RecordError as error:
            checked[record.address] = CheckedTrial(record.address, "", "damaged", str(error))
            continue
        if repeatable(record.trial):
            whole.append(record)
        else:
            checked[record.address] = CheckedTrial(record.address, name(record.trial), "real time")
    picked = random.SystemRandom().sample(whole, ceil(sample * len(whole)))
    checked |= {record.address: CheckedTrial(record.address, name(record.trial), "not picked") for record in whole}
    with store.scratch() as scratch, shown(len(picked)) as progress:
        outcomes = repeat(picked, scratch, jobs, budget, progress, kernels, trust)
        for record in picked:
            checked[record.address] = _compared(record, outcomes[record.address])
    yield from (checked[record.address] for record in records)


def _compared(record: Record, outcome: Record | LabError) -> CheckedTrial:
    who = name(record.trial)
    # Nothing was compared if the machine failed, or was too slow for the budget.
    if isinstance(outcome, GuestTimeout) or getattr(outcome, "exit_code", 0) == MachineError.exit_code:
        return CheckedTrial(record.address, who, "not repeated", str(outcome))
    where = f"it failed: {outcome}" if isinstance(outcome, LabError) else first_difference(record, outcome)
    if not where:
        return CheckedTrial(record.address, who, "identical")
    others = ", ".join(other_tools(record.trial))
    return CheckedTrial(record.address, who, "differs", where + (f"; this machine has {others}" if others else ""))
