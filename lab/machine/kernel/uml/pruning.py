"""Remove old kernels of changed C files. Their patches stay, so that the lab can build them again in seconds."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.base.building import Progress, alone, unheld
from lab.errors import InputError
from lab.machine.kernel.base import folder
from lab.machine.kernel.uml.cache import RECORD, UmlKernel, installed, rebuilding

KEEP = 3  # kernels of one name


@dataclass(frozen=True)
class Pruning:
    """Lists the kernels that were or would be removed."""

    kernels: tuple[UmlKernel, ...]
    bytes: int  # of disk space
    removed: bool

    def plain(self) -> dict[str, Any]:
        """Return this as plain data for JSON."""
        kernels = [each.describe() for each in self.kernels]
        return {"kernels": kernels, "bytes": self.bytes, "removed": self.removed}


def prune(progress: Progress, keep: int = KEEP, remove: bool = False) -> Pruning:
    """Return the kernels of changed C files, except for the newest `keep` of each name. With `remove`, remove them.

    A kernel stays if a run uses it, or if the lab cannot build it again from the patches in the cache. Raises
    InputError if `keep` is less than one.
    """
    if keep < 1:
        raise InputError(f"--keep {keep} is too small; use 1 or more")
    with alone(folder(), progress):
        old = [(each, _taken(each.path.parent)) for each in _old(installed(), keep)]
        gone = [(kernel, size) for kernel, size in old if not remove or _removed(kernel.path.parent)]
    return Pruning(tuple(kernel for kernel, _ in gone), sum(size for _, size in gone), remove)


def _old(kernels: Sequence[UmlKernel], keep: int) -> list[UmlKernel]:
    """Return all but the first `keep` kernels of each name that can be built again."""
    named: dict[str, list[UmlKernel]] = defaultdict(list)
    for kernel in kernels:
        if rebuilding(kernel.path.parents[1], kernel.id):
            named[kernel.name].append(kernel)
    return [kernel for group in named.values() for kernel in group[keep:]]


def _taken(place: Path) -> int:
    return sum(512 * each.stat().st_blocks for each in place.iterdir())


def _removed(place: Path) -> bool:
    """Remove a kernel. Return whether it is gone: it stays if a run uses it, or if the cache is read-only."""
    with suppress(OSError), unheld(place):
        (place / RECORD).unlink()  # first, so that an interrupted removal leaves no kernel
        shutil.rmtree(place)
        return True
    return False
