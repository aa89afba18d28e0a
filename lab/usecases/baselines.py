"""Keep records of a kernel as a baseline, to compare those of later kernels with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import InputError
from lab.kernel import Kernel
from lab.record.record import Record
from lab.record.store import Store
from lab.spec.loaded import LoadedExperiment
from lab.verdict.judged import JudgedClaim, judge_stored

__all__ = ["Baseline", "folder_of", "judged", "save"]

BASELINES = "baselines"  # below a store: stores of their own, whose records link to that store's


@dataclass(frozen=True)
class Baseline:
    """Say what was kept: the folder, itself a store, and how many records it holds."""

    folder: Path
    records: int
    exit_code = 0

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        return {"baseline": str(self.folder), "records": self.records}


def save(experiments: Iterable[LoadedExperiment], kernel: Kernel, seed: int, results: Path, name: str) -> Baseline:
    """Keep what the store has of these claims on `kernel`, from that seed on, as the baseline `name`.

    Raises InputError when a baseline has that name already, or when there is nothing to keep.
    """
    folder = folder_of(results, name)
    if folder.exists():
        raise InputError(f"there is a baseline '{name}' already: remove {folder}, or choose another name")
    store = Store(results)
    claims = judge_stored(experiments, _of(kernel, seed, store), store.predictions)
    records = [record for claim in claims for record in claim.records]
    if not records:
        raise InputError(f"{results} has no records of these claims on kernel {kernel.name}: `lab run` makes them")
    for record in records:
        Store(folder).adopt(record)
    return Baseline(folder, len(records))


def judged(experiments: Sequence[LoadedExperiment], name: str, results: Path) -> tuple[JudgedClaim, ...]:
    """Judge claims by the records of the baseline `name`. Raises InputError when there is no such baseline."""
    folder = folder_of(results, name)
    if not folder.is_dir():
        known = sorted(other.name for other in folder.parent.glob("*")) if folder.parent.is_dir() else []
        there = f"there is {', '.join(known)}" if known else "`lab baseline save` keeps one"
        raise InputError(f"no baseline '{name}' in {results}: {there}")
    store = Store(folder)
    return judge_stored(experiments, store, store.predictions)


def folder_of(results: Path, name: str) -> Path:
    """Return where the baseline `name` is, or would be. Raises InputError when `name` cannot name one."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise InputError(f"'{name}' does not name a baseline: use letters, digits, '.', '-' and '_'")
    return results / BASELINES / name


def _of(kernel: Kernel, seed: int, store: Store) -> Iterator[Record]:
    """Yield the records of a kernel and of its variants, from that seed on."""
    for record in store:
        ran = record.trial.kernel
        if kernel.id in (ran.get("id"), ran.get("base")) and record.trial.seed >= seed:
            yield record
