"""Keep the lab's code that guests run, with its bytecode, apart from where the lab is installed.

A guest sees this copy, always at the same place: neither the lab's folder, nor the Python that the lab runs by, nor an
edit while trials run shows in it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import lab
from lab import cache as caches
from lab.building import UNFINISHED, Silent, alone, forget, hold
from lab.errors import MachineError
from lab.kernel.root import Root
from lab.moving import move
from lab.runner.packed import PACK, Entry, pack
from lab.userland.cache import Userland, UserlandMissing, load
from lab.userland.program import PYTHON, compile_python, imported
from lab.userland.tree import Tree

__all__ = ["DECIDES", "sealed", "sources"]

HERE = Path(lab.__file__).parent
PLACE = "/usr/lib/replab"  # in a guest; its first program mounts the code there
INIT = "/usr/sbin/replab-init"
PACKAGES = "usr/lib/python3/dist-packages"
STARTED = ("runpy", "lab.runner.perform", "lab.runner.interactive", "lab.runner.part")
PYC_HEADER = 16  # bytes before the code

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
ALSO = ("kernel/init.py", "runner/interactive.py", "runner/packed.py", "runner/part.py")  # what else runs in guests


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
        while not hold(ready):
            with alone(home, Silent()):
                forget(home.glob("[0-9a-f]*"))
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
    folders = {file.parent for file in found}  # few: to compare paths takes as long as to read files
    packages = {each for folder in folders for each in (folder, *folder.parents) if each.is_relative_to(HERE)}
    above = {package / "__init__.py" for package in packages}
    yield from sorted({*found, *above})


def _write(files: dict[str, bytes], userland: Userland, place: Path, ready: Path) -> None:
    try:
        place.mkdir()
        tree = Tree(place / "code")
        for name, content in files.items():
            tree.write(f"lab/{name}", content, False, "the lab")
        tree.write("sitecustomize.py", files["runner/packed.py"], False, "the lab")
        compile_python(userland.tree, ["lab", "sitecustomize.py"], place / "code", PLACE)
        (place / "code" / PACK).write_bytes(_pack(userland.tree, place / "code"))
        tree.settle(0)
        move(place, ready)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _pack(tree: Path, copy: Path) -> bytes:
    """Return the file PACK: the bytecode of all modules that programs of the lab's import as they start in a guest."""
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
