"""What crashed or failed runs left in a store."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from lab.record.store import Store
from lab.run.guest import KEPT


def clean(results: Path) -> Iterator[str]:
    """Remove folders of dead runs and the consoles of failed trials; yields what was removed. Records stay."""
    yield from map(str, Store(results).swept)
    kept = results / KEPT
    if kept.is_dir():
        count = sum(1 for _ in kept.iterdir())
        shutil.rmtree(kept)
        yield f"the consoles of {count} failed trials in {kept}"
