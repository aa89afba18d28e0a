"""Remove the leftovers of crashed or failed runs from a store and from the temporary files."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lab.base.owner import is_dead, remove
from lab.machine.kernel import HOST_MEMORY, SCRATCH_PREFIX
from lab.record import packed
from lab.record.store import Store
from lab.runner.guest import KEPT

CONSOLE = re.compile(r".+\..+\.[0-9a-f]{12}\.log")  # ARTICLE.CLAIM.ARM.ADDRESS.log


def sweep() -> Iterator[Path]:
    """Remove the scratch folders of dead processes, including guest memory and unpacked files. Yield each removed
    path.
    """
    yield from packed.sweep()
    for place in {Path(tempfile.gettempdir()), HOST_MEMORY}:
        for folder in place.glob(f"{SCRATCH_PREFIX}~*"):
            if is_dead(folder.name) and remove(folder):
                yield folder


def clean(results: Path) -> Iterator[str]:
    """Remove the folders of dead runs and the console logs of failed trials, but no records. Yield each removed path.

    In the folder `failed`, the function removes the files that `lab.runner.guest.keep` names, and then the folder
    itself if it is empty. Namespaces, wires, mounts and processes need no cleaning, because they always end with their
    trial.
    """
    yield from map(str, Store(results).swept)
    yield from map(str, sweep())
    kept = results / KEPT
    if kept.is_symlink() or not kept.is_dir():
        return
    consoles = [path for path in kept.iterdir() if CONSOLE.fullmatch(path.name) and not path.is_dir()]
    for path in consoles:
        path.unlink(missing_ok=True)
    with suppress(OSError):  # it is not empty
        kept.rmdir()
    if consoles:
        yield f"the consoles of {len(consoles)} failed trials in {kept}"
