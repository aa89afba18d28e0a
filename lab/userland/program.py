"""Run programs of a tree on any Linux: by the tree's own loader and libraries, whatever the host has."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lab.errors import MachineError

__all__ = ["LAUNCHERS", "PYTHON", "Module", "command", "compile_python", "gcc", "imported", "launcher"]

LOADER = "usr/lib64/ld-linux-x86-64.so.2"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
PYTHON = "usr/bin/python3.13"
# Prints the modules that an import of argv[2:] reads from files; json, which prints them, is taken for one of these.
IMPORT = """
import importlib, json, sys
sys.path[:0] = json.loads(sys.argv[1])
for each in sys.argv[2:]:
    importlib.import_module(each)
specs = {each.__spec__.name: each.__spec__ for each in sys.modules.values() if getattr(each, "__spec__", None)}
found = [(name, spec) for name, spec in sorted(specs.items()) if spec.has_location]
print(json.dumps([(n, s.origin, s.cached, s.submodule_search_locations is not None) for n, s in found]))
"""
LAUNCHERS = "usr/launch"  # the folder of a tree that holds the launchers of its programs


def command(tree: Path, program: str, *arguments: str) -> list[str]:
    """Return the command that runs `program` (a path in the tree) with arguments."""
    libraries = f"{tree}/{LIBRARIES}"
    return [f"{tree}/{LOADER}", "--inhibit-cache", "--library-path", libraries, f"{tree}/{program}", *arguments]


def launcher(program: str, arguments: str = "") -> str:
    """Write a script, for the folder LAUNCHERS, that runs `program` with `arguments` before the script's own.

    It works wherever the tree lies. The launcher is what the program takes for its own file: from there it finds what
    belongs to it, and it starts itself again by it.
    """
    first = f"{arguments} " if arguments else ""
    return (
        "#!/bin/sh\ntree=${0%/*}/../..\n"
        f'exec "$tree/{LOADER}" --inhibit-cache --library-path "$tree/{LIBRARIES}" --argv0 "$0" '
        f'"$tree/{program}" {first}"$@"\n'
    )


def gcc(compiler: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the gcc of the userland `compiler` in `folder`, where it keeps its temporary files. Raises OSError."""
    launchers = compiler / LAUNCHERS
    environment = {"PATH": f"{launchers}:{os.defpath}", "HOME": str(folder), "TMPDIR": str(folder), "LC_ALL": "C"}
    command = [str(launchers / "gcc"), *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace")


def compile_python(tree: Path, folders: Sequence[str], root: Path, prefix: str = "/") -> None:
    """Write bytecode for the Python files in `folders` of `root`, by the userland's own Python.

    It never looks at a source's date again. `prefix` is where the files will lie in a guest. Raises MachineError.
    """
    script = ["-I", "-S", "-B", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    _python(tree, *script, "-s", str(root), "-p", prefix, *(str(root / each) for each in folders))


class Module(NamedTuple):
    """Says where the userland's Python found a module: its file, that of its bytecode, if it is a package."""

    name: str
    file: Path
    bytecode: Path | None  # None: the file is a library
    is_package: bool


def imported(tree: Path, search: Sequence[Path], names: Sequence[str]) -> list[Module]:
    """Return all modules that Python reads from files when it imports these, found along its own path and `search`.

    Raises MachineError.
    """
    found = json.loads(
        _python(tree, "-P", "-S", "-B", "-c", IMPORT, json.dumps([str(each) for each in search]), *names)
    )
    return [Module(name, Path(file), Path(code) if code else None, package) for name, file, code, package in found]


def _python(tree: Path, *arguments: str) -> str:
    """Run the userland's Python here, and return what it prints. Raises MachineError."""
    environment = {"PYTHONHASHSEED": "0", "PYTHONHOME": f"{tree}/usr", "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(command(tree, PYTHON, *arguments), env=environment, capture_output=True, text=True)
    except OSError as error:
        raise MachineError(f"the userland's Python does not run here: {error}") from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise MachineError(f"the userland's Python cannot do its work: {said[-1] if said else done.returncode}")
    return done.stdout
