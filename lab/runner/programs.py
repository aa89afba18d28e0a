"""Find the host programs that an experiment's own programs need: the named programs, a compiler, and packetdrill.

The compiler is the version-locked one that also compiles kernels, so that a source compiles to identical bytes on any
machine.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lab.base import cache as caches
from lab.base.moving import move
from lab.errors import LabError, MachineError
from lab.guest.task import Traffic
from lab.guest.workload.program import content
from lab.machine import packetdrill
from lab.machine.kernel import compilers
from lab.machine.userland import cache as userlands
from lab.machine.userland.cache import Userland
from lab.machine.userland.program import gcc
from lab.runner.tools import find_program, hashed
from lab.units import to_plain

FLAGS = ("-O2", "-static", "-Wall")


class CompileError(LabError):
    """Raised if a C source does not compile."""

    def __init__(self, name: str, line: int, message: str) -> None:
        super().__init__(f"{name}:{line}: {message}")
        self.name, self.line, self.message = name, line, message


def missing(workload: Traffic, userland: Userland | None) -> list[str]:
    """Return the programs that the workload starts but that a guest does not have."""
    return [name for name in workload.programs if _find(name, userland) is None]


def versions(workload: Traffic, userland: Userland | None) -> dict[str, str]:
    """Return the version (or hash), by name, of each program that the userland's id does not cover.

    Raises UserlandMissing if the workload has sources and the compiler is missing.
    """
    found = {}
    if userland is None:
        for name in workload.programs:
            if file := _find(name, None):
                found[name] = hashed(file)
    plain = to_plain(workload)
    if any(each["sources"] for _, each in _programs(plain)):
        found["cc"] = userlands.find("compiler").id
    if _is_packetdrill(plain):
        found[packetdrill.PROGRAM] = packetdrill.find().id
    return found


def compile_all(workload: Mapping[str, Any], trust: bool = False) -> None:
    """Compile each source of a workload in plain form, unless it is already compiled. `place` finds the results.

    Compilation is confined if the machine supports this. Otherwise, the user has to `trust` the sources. Raises
    CompileError, UserlandMissing and MachineError.
    """
    for _, plain in _programs(workload):
        for name in plain.get("sources", ()):
            _compiled(name, content(plain["contents"], name), trust)


def place(workload: Mapping[str, Any], tools: Mapping[str, str], folder: Path) -> None:
    """Put the compiled programs of a trial's workload (in plain form) into `folder`, with the packetdrill in `tools`.

    For one of several flows, the programs are put into the folder with the flow's name. Raises the errors of
    `compile_all`. The function does not convert the plain form, because trials start in threads, and msgspec may crash
    if two threads convert to a new type at once.
    """
    if _is_packetdrill(workload):
        folder.mkdir()
        shutil.copy2(packetdrill.find(tools[packetdrill.PROGRAM]).path, folder / packetdrill.PROGRAM)
    for flow, plain in _programs(workload):
        for name in plain.get("sources", ()):
            (folder / flow).mkdir(parents=True, exist_ok=True)
            shutil.copy2(_compiled(name, content(plain["contents"], name)), folder / flow / Path(name).stem)


def _programs(workload: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (flow, program in plain form); the flow is "" for a single workload."""
    flows = [(flow["name"], flow["workload"]) for flow in workload.get("flows", ())] or [("", workload)]
    yield from ((name, each) for name, each in flows if each["kind"] == "program")


def _is_packetdrill(workload: Mapping[str, Any]) -> bool:
    return bool(workload["kind"] == packetdrill.PROGRAM)


def _find(name: str, userland: Userland | None) -> Path | None:
    if userland is None:
        found = find_program(name)
        return Path(found) if found else None
    places = [""] if "/" in name else ["usr/sbin", "usr/bin"]
    files = (userland.tree / place / name.lstrip("/") for place in places)
    return next((file for file in files if file.exists()), None)


def _compiled(name: str, source: bytes, trust: bool = False) -> Path:
    compiler = userlands.find("compiler")
    key = hashlib.sha256(repr((name, source, compiler.id, FLAGS)).encode()).hexdigest()
    kept = caches.folder("programs") / key[:16] / Path(name).stem
    if kept.is_file():
        return kept
    try:
        kept.parent.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent.parent) as private:
            fresh = Path(private) / "fresh"
            fresh.mkdir()
            (Path(private) / name).write_bytes(source)
            if not trust:
                compilers.need_confinement(name, runs_code=False)
            _compile(name, fresh / kept.name, Path(private), compiler)
            if not kept.parent.is_dir():
                move(fresh, kept.parent)
    except OSError as error:
        raise MachineError(f"cannot compile {name} in {kept.parent.parent}: {error.strerror}") from None
    return kept


def _compile(name: str, to: Path, folder: Path, compiler: Userland) -> None:
    limits = compilers.PROGRAM
    confined = compilers.confined(compiler, [folder], limits=limits, runs_code=False)
    command = (*FLAGS, "-o", str(to), name)
    try:
        done = gcc(compiler.tree, folder, *command, confined=confined, seconds=limits.wall.seconds)
    except subprocess.TimeoutExpired:
        raise CompileError(name, 1, f"it does not compile within {limits.wall}") from None
    if re.search("signal terminated program", done.stderr):
        raise CompileError(name, 1, f"compiling takes more than {limits.cpu} of CPU or {limits.memory} of memory")
    if done.returncode:
        first = re.search(r":(\d+):(?:\d+:)? (?:fatal )?error: (.*)", done.stderr)
        last = (done.stderr.strip().splitlines() or ["the compiler left no message"])[-1]
        raise CompileError(name, int(first[1]) if first else 1, first[2] if first else last)
