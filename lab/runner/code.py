"""Keep the lab's code that guests run, with its bytecode, apart from where the lab is installed.

A guest sees this copy, always at the same place: neither the lab's folder, nor the Python that the lab runs by, nor an
edit while trials run shows in it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import lab
from lab import cache as caches
from lab.building import UNFINISHED, Silent, alone
from lab.errors import MachineError
from lab.kernel.root import Root
from lab.userland.cache import Userland, UserlandMissing, load
from lab.userland.program import PYTHON, compile_python
from lab.userland.tree import Tree

__all__ = ["DECIDES", "sealed", "sources"]

HERE = Path(lab.__file__).parent
PLACE = "/usr/lib/replab"  # in a guest; its first program mounts the code there
INIT = "/usr/sbin/replab-init"
WEEK = 7 * 24 * 3600

# A change in these may change packets, a change elsewhere cannot: they are part of a trial's address.
DECIDES = (
    "alarm.py",
    "errors.py",
    "fabric",
    "middlebox",
    "outputs.py",
    "testbed.py",
    "probe",
    "record/trial.py",
    "runner/monitor.py",
    "runner/perform.py",
    "runner/playing.py",
    "runner/saturation.py",
    "spec/clock.py",
    "spec/key.py",
    "spec/mininet.py",
    "spec/network.py",
    "spec/share.py",
    "spec/task.py",
    "spec/trace.py",
    "units.py",
    "workload",
)
ALSO = ("kernel/init.py", "runner/interactive.py", "runner/part.py")  # what else runs in guests


def sources(root: Path, names: tuple[str, ...] = DECIDES) -> list[Path]:
    """Return the Python files that these names (files, and folders) stand for."""
    places = [root / name for name in names]
    return [file for place in places for file in (sorted(place.glob("*.py")) if place.is_dir() else [place])]


def sealed(userland: str) -> Root:
    """Return what a guest sees that boots from the userland with this id. Raises UserlandMissing, MachineError."""
    found = load(userland)
    if found is None:
        raise UserlandMissing(f"the userland {userland} is not here: `lab userland build` makes the lab's usual one")
    return Root(found.tree, INIT, f"/{PYTHON}", PLACE, _copied(found))


@cache
def _copied(userland: Userland) -> Path:
    """Return the folder that holds the code, as it is now, for this userland's Python."""
    files = {str(file.relative_to(HERE)): file.read_bytes() for file in _needed()}
    total = hashlib.sha256(repr((userland.id, sorted(files.items()))).encode()).hexdigest()
    home = caches.folder("code")
    ready = home / total[:16]
    try:
        while not _held(ready):
            with alone(home, Silent()):
                _forget(home)
                if not ready.is_dir():
                    _write(files, userland, home / f"{UNFINISHED}{os.getpid()}", ready)
    except OSError as error:
        raise MachineError(f"cannot keep the guests' code in {home}: {error.strerror}") from None
    with suppress(OSError):  # another user's cache: it does not know when it was used last
        os.utime(ready)
    return ready / "code"


def _needed() -> Iterator[Path]:
    """Yield every file that guests run, and what makes packages of their folders."""
    found = sources(HERE, (*DECIDES, *ALSO))
    above = {parent / "__init__.py" for file in found for parent in file.parents if parent.is_relative_to(HERE)}
    yield from sorted({*found, *above})


def _write(files: dict[str, bytes], userland: Userland, place: Path, ready: Path) -> None:
    try:
        place.mkdir()
        tree = Tree(place / "code")
        for name, content in files.items():
            tree.write(f"lab/{name}", content, False, "the lab")
        compile_python(userland.tree, ["lab"], place / "code", PLACE)
        tree.settle(0)
        place.rename(ready)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _held(copy: Path) -> bool:
    """Keep a copy for as long as this process lives, whatever the date; return whether it is there.

    The descriptor stays open. A copy that was just forgotten is held in vain: it is looked for afterwards.
    """
    with suppress(OSError):  # it is not there, or its file system has no locks
        fcntl.flock(os.open(copy, os.O_RDONLY), fcntl.LOCK_SH)
    return copy.is_dir()


def _forget(home: Path) -> None:
    """Remove copies that nobody holds, and that nobody used in the last week."""
    for old in home.glob("[0-9a-f]*"):
        if time.time() - old.stat().st_mtime > WEEK:
            handle = os.open(old, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(old)
            except BlockingIOError:
                continue  # a run has lasted for so long, or the date has jumped
            finally:
                os.close(handle)
