"""Run programs in a tree on any Linux with the tree's own loader and libraries."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lab.errors import MachineError

LOADER = "usr/lib64/ld-linux-x86-64.so.2"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
PYTHON = "usr/bin/python3.13"
# Prints the modules that an import of argv[2:] reads from files, in the order of their import. Two of them, importlib
# and json, are for this program.
IMPORT = """
import sys
class Order(dict):
    def find_spec(self, name, *_):
        self.setdefault(name, len(self))
order = Order()
sys.meta_path.insert(0, order)
sys.path[:0] = sys.argv[1].splitlines()
import importlib
for each in sys.argv[2:]:
    importlib.import_module(each)
import json
specs = {each.__spec__.name: each.__spec__ for each in sys.modules.values() if getattr(each, "__spec__", None)}
found = [(name, spec) for name, spec in specs.items() if spec.has_location]
found.sort(key=lambda each: order.get(each[0], -1))
print(json.dumps([(n, s.origin, s.cached, s.submodule_search_locations is not None) for n, s in found]))
"""
LAUNCHERS = "usr/launch"  # the folder of a tree with the launchers of its programs


def command(tree: Path, program: str, *arguments: str) -> list[str]:
    """Return the command that runs `program` (a path in the tree) with arguments."""
    libraries = f"{tree}/{LIBRARIES}"
    return [f"{tree}/{LOADER}", "--inhibit-cache", "--library-path", libraries, f"{tree}/{program}", *arguments]


def launcher(program: str, arguments: str = "") -> str:
    """Return a script for LAUNCHERS that runs `program` with `arguments`, followed by the script's own arguments.

    The script works wherever the tree is in the file system. The program treats the launcher as its own executable: it
    looks for its other files relative to the launcher, and executes the launcher to restart itself.
    """
    first = f"{arguments} " if arguments else ""
    return (
        "#!/bin/sh\ntree=${0%/*}/../..\n"
        f'exec "$tree/{LOADER}" --inhibit-cache --library-path "$tree/{LIBRARIES}" --argv0 "$0" '
        f'"$tree/{program}" {first}"$@"\n'
    )


def gcc(
    compiler: Path, folder: Path, *arguments: str, confined: Sequence[str] = (), seconds: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the gcc of the userland `compiler` in `folder`, which also holds gcc's temporary files.

    `confined` is the command that confines gcc. Raises OSError, and subprocess.TimeoutExpired after `seconds`.
    """
    launchers = compiler / LAUNCHERS
    environment = {"PATH": f"{launchers}:{os.defpath}", "HOME": str(folder), "TMPDIR": str(folder), "LC_ALL": "C"}
    return subprocess.run(
        [*confined, str(launchers / "gcc"), *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
    )


def compile_python(tree: Path, folders: Sequence[str], root: Path, prefix: str = "/") -> None:
    """Write bytecode for the Python files in `folders` of `root`, with the userland's own Python.

    With this bytecode, Python never checks a source's date. `prefix` is the path of the files in a guest. Raises
    MachineError.
    """
    script = ["-I", "-S", "-B", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    _python(tree, *script, "-s", str(root), "-p", prefix, *(str(root / each) for each in folders))


class Module(NamedTuple):
    """Describes where the userland's Python found a module: source file, bytecode file, and whether it is a package."""

    name: str
    file: Path
    bytecode: Path | None  # None: the file is a library
    is_package: bool


def imported(tree: Path, search: Sequence[Path], names: Sequence[str]) -> list[Module]:
    """Return all modules that Python reads from files when it imports these modules from its own path and `search`, in
    the order of their import.

    Raises MachineError.
    """
    found = json.loads(_python(tree, "-P", "-S", "-B", "-c", IMPORT, "\n".join(map(str, search)), *names))
    return [Module(name, Path(file), Path(code) if code else None, package) for name, file, code, package in found]


def _python(tree: Path, *arguments: str) -> str:
    """Run the userland's Python here, and return its output. Raises MachineError."""
    environment = {"PYTHONHASHSEED": "0", "PYTHONHOME": f"{tree}/usr", "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(command(tree, PYTHON, *arguments), env=environment, capture_output=True, text=True)
    except OSError as error:
        raise MachineError(f"the userland's Python does not run here: {error}") from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise MachineError(f"the userland's Python cannot do its work: {said[-1] if said else done.returncode}")
    return done.stdout
