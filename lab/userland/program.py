"""Run programs of a tree on any Linux: by the tree's own loader and libraries, whatever the host has."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lab.errors import MachineError

__all__ = ["LAUNCHERS", "PYTHON", "command", "compile_python", "gcc", "launcher"]

LOADER = "usr/lib64/ld-linux-x86-64.so.2"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
PYTHON = "usr/bin/python3.13"
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
    paths = ["-s", str(root), "-p", prefix, *(str(root / each) for each in folders)]
    environment = {"PYTHONHASHSEED": "0", "PYTHONHOME": f"{tree}/usr", "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(command(tree, PYTHON, *script, *paths), env=environment, capture_output=True, text=True)
    except OSError as error:
        raise MachineError(f"the userland's Python does not run here: {error}") from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise MachineError(f"the userland's Python cannot compile: {said[-1] if said else done.returncode}")
