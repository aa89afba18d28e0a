"""Remove what crashed or failed runs left, in a store and where temporary files are."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lab.kernel import HOST_MEMORY, SCRATCH_PREFIX
from lab.owner import is_dead, remove
from lab.record import packed
from lab.record.store import Store
from lab.runner.guest import KEPT


def sweep() -> Iterator[Path]:
    """Remove the scratch folders of dead processes, for guests' memory and what was unpacked too; yield each."""
    yield from packed.sweep()
    for place in {Path(tempfile.gettempdir()), HOST_MEMORY}:
        for folder in place.glob(f"{SCRATCH_PREFIX}~*"):
            if is_dead(folder.name):
                remove(folder)
                yield folder


def clean(results: Path) -> Iterator[str]:
    """Remove folders of dead runs and the consoles of failed trials; yield what was removed. Records stay.

    Nothing else needs cleaning: namespaces, wires, mounts and processes end with their trial, however it ends.
    """
    yield from map(str, Store(results).swept)
    yield from map(str, sweep())
    kept = results / KEPT
    if kept.is_dir():
        count = sum(1 for _ in kept.iterdir())
        shutil.rmtree(kept)
        yield f"the consoles of {count} failed trials in {kept}"
