"""Run every recorded trial again, here, and compare the outputs to the byte."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Literal

from lab.comparison.identity import first_byte_difference
from lab.errors import InputError, LabError
from lab.kernel import Budget, Kernel
from lab.record.record import Record, RecordError
from lab.record.store import Store
from lab.runner.progress import name, shown
from lab.runner.repeat import CannotRepeat, other_tools, repeat, repeatable
from lab.usecases.unbundling import with_records

__all__ = ["CheckedTrial", "Verification", "verify", "verify_bundle"]


@dataclass(frozen=True)
class CheckedTrial:
    """Say whether one trial gave the same bytes again, and if not, where they differ."""

    address: str
    trial: str
    outcome: Literal["identical", "differs", "damaged", "not repeated", "not picked", "real time"]
    detail: str = ""


@dataclass(frozen=True)
class Verification:
    """Hold what became of every trial."""

    checked: tuple[CheckedTrial, ...]

    @property
    def exit_code(self) -> int:
        """Return 1 when a byte differs or a record is damaged, 3 when this machine could not repeat one or any, else 0.

        Real-time trials promised no bytes, so they do not count; a store that has only those proves nothing.
        """
        outcomes = {each.outcome for each in self.checked}
        if outcomes & {"differs", "damaged"}:
            return 1
        return 3 if "not repeated" in outcomes or "identical" not in outcomes else 0

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        return {
            "trials": [
                {"address": each.address, "trial": each.trial, "outcome": each.outcome, "detail": each.detail}
                for each in self.checked
            ]
        }


def verify(
    results: Path, jobs: int | None, budget: Budget, sample: float = 1.0, kernels: Sequence[Kernel] = ()
) -> Verification:
    """Run trials of the store again, in a scratch store next to it that is removed afterwards.

    Chance picks the part `sample` of those that can be repeated, at least one; who made the records cannot know which.
    `kernels` come before those that are installed here. Raises InputError when there is no record, MachineError when
    the machine cannot run any.
    """
    store = Store(results)
    records = tuple(store)
    if not records:
        raise InputError(f"{results} holds no records")
    with store.held():
        return Verification(tuple(_checked(records, store, jobs, budget, sample, kernels)))


def _checked(
    records: Sequence[Record], store: Store, jobs: int | None, budget: Budget, sample: float, kernels: Sequence[Kernel]
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
        outcomes = repeat(picked, scratch, jobs, budget, progress, kernels)
        for record in picked:
            checked[record.address] = _compared(record, outcomes[record.address])
    yield from (checked[record.address] for record in records)


def verify_bundle(file: Path, jobs: int | None, budget: Budget, sample: float = 1.0) -> Verification:
    """Run the trials of a bundle again, on its own kernels and userlands. Raises BundleError, and as `verify` does."""
    with with_records(file) as (found, results):
        return verify(results, jobs, budget, sample, found.kernels)


def _compared(record: Record, outcome: Record | LabError) -> CheckedTrial:
    who = name(record.trial)
    if isinstance(outcome, CannotRepeat):
        return CheckedTrial(record.address, who, "not repeated", str(outcome))
    where = f"it failed: {outcome}" if isinstance(outcome, LabError) else first_byte_difference(record, outcome)
    if where is None:
        return CheckedTrial(record.address, who, "identical")
    others = ", ".join(other_tools(record.trial))
    return CheckedTrial(record.address, who, "differs", f"{where}" + (f"; here is {others}" if others else ""))
