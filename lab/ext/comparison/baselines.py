"""Save the records on a kernel as a baseline for comparisons with later kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import InputError
from lab.machine.kernel import Kernel
from lab.record.record import Record
from lab.record.store import Store
from lab.spec.errors import instead
from lab.spec.loaded import LoadedExperiment
from lab.verdict.judged import JudgedClaim, judge_stored

BASELINES = "baselines"  # below a store; each baseline is a store whose records are hard links


@dataclass(frozen=True)
class Baseline:
    """Describes a baseline: its folder, which is a store, and the number of its records."""

    folder: Path
    records: int
    exit_code = 0

    def plain(self) -> dict[str, Any]:
        """Return the baseline as plain data for JSON."""
        return {"baseline": str(self.folder), "records": self.records}


def save(experiments: Iterable[LoadedExperiment], kernel: Kernel, seed: int, results: Path, name: str) -> Baseline:
    """Save the store's records of these claims on `kernel`, from `seed` on, as the baseline `name`.

    Raises InputError if a baseline already has that name, or if there is no record to save.
    """
    folder = folder_of(results, name)
    if folder.exists():
        raise InputError(f"the baseline '{name}' already exists; remove {folder}, or choose a different name")
    store = Store(results)
    claims = judge_stored(experiments, _of(kernel, seed, store), store.predictions)
    records = [record for claim in claims for record in claim.records]
    if not records:
        raise InputError(f"{results} has no records of these claims on kernel {kernel.name}; `lab run` makes them")
    for record in records:
        Store(folder).adopt(record)
    return Baseline(folder, len(records))


def judged(experiments: Sequence[LoadedExperiment], name: str, results: Path) -> tuple[JudgedClaim, ...]:
    """Return the claims, judged from the records of the baseline `name`. Raises InputError if the baseline does not
    exist.
    """
    folder = folder_of(results, name)
    if not folder.is_dir():
        known = sorted(other.name for other in folder.parent.glob("*")) if folder.parent.is_dir() else []
        raise InputError(
            f"no baseline '{name}' in {results}{instead(name, known) or '; `lab kernel baseline` saves one'}"
        )
    store = Store(folder)
    return judge_stored(experiments, store, store.predictions)


def folder_of(results: Path, name: str) -> Path:
    """Return the folder of the baseline `name`, which need not exist. Raises InputError for an unsuitable name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise InputError(f"'{name}' is not a name for a baseline; use up to 100 letters, digits, '.', '-' and '_'")
    return results / BASELINES / name


def _of(kernel: Kernel, seed: int, store: Store) -> Iterator[Record]:
    """Yield the records on a kernel and its variants, from `seed` on."""
    for record in store:
        ran = record.trial.kernel
        if kernel.id in (ran.get("id"), ran.get("base")) and record.trial.seed >= seed:
            yield record
