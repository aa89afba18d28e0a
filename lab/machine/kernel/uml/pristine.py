"""Cache unpacked kernel sources, and give builds a tree of links to the files, which is ten times as fast as unpacking.

A build writes new files. If a patch changes a source file, the build replaces the file, and never writes into it. Each
use checks the stored source, and unpacks it again if a file, size, mode or date has changed. A foreign build can write
into a source file, but cannot restore the file's date (lab.machine.kernel.seccomp).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lab.base.building import Progress, forget
from lab.base.moving import move
from lab.machine.kernel.uml import source
from lab.machine.kernel.uml.recipe import Patch
from lab.machine.kernel.uml.source import Source
from lab.machine.userland.cache import Userland

FOLDER = "unpacked"  # in the cache
TREE, STATE = "tree", "state"


def tree(home: Path, found: Source, patches: Sequence[Patch], place: Path, compiler: Userland, say: Progress) -> None:
    """Create a tree of this source at `place`, ready for these patches.

    The caller holds the build lock of `home`, and always removes the folder that contains `place`. Raises MachineError
    if the source cannot be fetched or is damaged, and OSError.
    """
    needless = source.needless(patches)
    key = hashlib.sha256(json.dumps([found.sha256, needless]).encode()).hexdigest()[:16]
    kept = home / FOLDER / key
    if not is_whole(kept, place):
        shutil.rmtree(place, ignore_errors=True)
        file = source.fetch(home, found, say)
        say.say(f"unpacking {found.version}")
        keep(file, needless, place.with_name(FOLDER), kept, compiler)
        if not is_whole(kept, place):
            raise OSError(0, f"the files unpacked in {kept} change by themselves")
    os.utime(kept)
    forget(each for each in kept.parent.iterdir() if each != kept)


def keep(file: Path, needless: Sequence[str], fresh: Path, kept: Path, compiler: Userland) -> None:
    """Unpack a source into the new folder `fresh`, and move the complete folder to `kept`."""
    fresh.mkdir()
    source.unpack(file, fresh / TREE, compiler, needless)
    (fresh / STATE).write_text(_walk(fresh / TREE, None), encoding="ascii")
    kept.parent.mkdir(exist_ok=True)
    shutil.rmtree(kept, ignore_errors=True)
    move(fresh, kept)


def is_whole(kept: Path, place: Path | None = None) -> bool:
    """Return whether the unpacked files are complete and unchanged. Fill the new folder `place` with links to them."""
    with suppress(FileNotFoundError):
        wanted = (kept / STATE).read_text(encoding="ascii")
        if place is not None:
            place.mkdir()
        return _walk(kept / TREE, place) == wanted
    return False


def _walk(top: Path, place: Path | None) -> str:
    """Link all files below `top` into `place`. Return a digest that shows whether a file below `top` has changed."""
    digest = hashlib.sha256()
    folders = [""]
    while folders:
        folder = folders.pop()
        for entry in sorted(os.scandir(top / folder), key=lambda each: each.name):
            name = f"{folder}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                folders.append(f"{name}/")
                if place is not None:
                    (place / name).mkdir()
                continue
            about = entry.stat(follow_symlinks=False)
            digest.update(
                f"{name}\0{about.st_size}\0{about.st_mode}\0{about.st_mtime_ns}\n".encode(errors="surrogateescape")
            )
            if place is not None:
                _link(entry.path, f"{place}/{name}")
    return digest.hexdigest()


def _link(file: str, target: str) -> None:
    try:
        os.link(file, target, follow_symlinks=False)
    except OSError:  # the file system has no links, or allows no more of this file
        shutil.copy2(file, target, follow_symlinks=False)
