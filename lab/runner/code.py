"""Provide a copy of the lab's code for guests, with bytecode, separate from the installed lab.

A guest sees this copy, always at the same path. So the guest does not see the lab's folder, the Python that runs the
lab, or edits during a run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from lab.base import cache as caches
from lab.base.building import UNFINISHED, Silent, alone, forget, hold
from lab.base.moving import move
from lab.errors import MachineError
from lab.guest.packed import PACK, Entry, pack
from lab.machine.kernel.root import Root
from lab.machine.userland.cache import Userland, UserlandMissing, load
from lab.machine.userland.program import PYTHON, compile_python, imported
from lab.machine.userland.tree import Tree
from lab.spec.shipped import PACKAGE

PLACE = "/usr/lib/replab"  # in a guest, where its first program mounts the code
INIT = "/usr/sbin/replab-init"
START = "kernel/init.py"  # where INIT looks, below the lab's folder; userlands made long ago also look here
PACKAGES = "usr/lib/python3/dist-packages"
STARTED = ("runpy", "lab.guest.start", "lab.guest.perform", "lab.guest.interactive", "lab.guest.part")
PYC_HEADER = 16  # bytes before the code

# A change in these may change packets, and other changes cannot. So these are part of a trial's address.
DECIDES = ("errors.py", "guest", "units.py")


def sources(root: Path) -> list[Path]:
    """Return the Python files of DECIDES below `root`, the folder of the lab's code."""
    places = [root / name for name in DECIDES]
    return [file for place in places for file in (sorted(place.rglob("*.py")) if place.is_dir() else [place])]


def sealed(userland: str) -> Root:
    """Return the files of a guest that boots from the userland with this id. Raises UserlandMissing and
    MachineError.
    """
    found = load(userland)
    if found is None:
        raise UserlandMissing(f"the userland {userland} is not here; `lab userland build` makes the lab's default one")
    return Root(found.tree, INIT, f"/{PYTHON}", PLACE, _copied(found))


@cache
def _copied(userland: Userland) -> Path:
    """Return the folder with the current code for this userland's Python."""
    files = {str(file.relative_to(PACKAGE)): file.read_bytes() for file in _needed()}
    files[START] = files["guest/init.py"]
    total = hashlib.sha256(repr((userland.id, sorted(files.items()))).encode()).hexdigest()
    home = caches.folder("code")
    ready = home / total[:16]
    try:
        while not hold(ready):
            with alone(home, Silent()):
                forget(home.glob("[0-9a-f]*"))
                if not ready.is_dir():
                    _write(files, userland, home / f"{UNFINISHED}{os.getpid()}", ready)
    except OSError as error:
        raise MachineError(f"cannot keep the guests' code in {home}: {error.strerror}") from None
    with suppress(OSError):  # the cache of another user keeps its date of last use
        os.utime(ready)
    return ready / "code"


def _needed() -> Iterator[Path]:
    """Yield every file that guests run, and the `__init__.py` files of their packages."""
    found = sources(PACKAGE)
    folders = {file.parent for file in found}  # few folders: comparing paths takes as long as reading files
    packages = {each for folder in folders for each in (folder, *folder.parents) if each.is_relative_to(PACKAGE)}
    above = {package / "__init__.py" for package in packages}
    yield from sorted({*found, *above})


def _write(files: dict[str, bytes], userland: Userland, place: Path, ready: Path) -> None:
    try:
        place.mkdir()
        tree = Tree(place / "code")
        for name, content in files.items():
            tree.write(f"lab/{name}", content, False, "the lab")
        tree.write("sitecustomize.py", files["guest/packed.py"], False, "the lab")
        compile_python(userland.tree, ["lab", "sitecustomize.py"], place / "code", PLACE)
        (place / "code" / PACK).write_bytes(_pack(userland.tree, place / "code"))
        tree.settle(0)
        move(place, ready)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _pack(tree: Path, copy: Path) -> bytes:
    """Return the contents of PACK: the bytecode of all modules that the lab's programs import when they start in a
    guest.
    """
    index: dict[str, Entry] = {}
    codes: list[bytes] = []
    offset = 0
    for module in imported(tree, [copy, tree / PACKAGES], STARTED):
        inside = f"{PLACE}/{module.file.relative_to(copy)}" if module.file.is_relative_to(copy) else ""
        code = module.bytecode.read_bytes()[PYC_HEADER:] if module.bytecode else b""
        index[module.name] = (inside or f"/{module.file.relative_to(tree)}", module.is_package, offset, len(code))
        codes.append(code)
        offset += len(code)
    return pack(index, b"".join(codes))
