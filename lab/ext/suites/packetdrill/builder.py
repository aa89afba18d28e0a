"""Compile packetdrill once with the locked compiler, so that every machine has an identical program."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from lab.base.building import UNFINISHED, Progress, alone, terminable
from lab.base.moving import move
from lab.errors import LabError, MachineError
from lab.ext.suites.packetdrill import source
from lab.ext.suites.packetdrill.source import PacketdrillSource
from lab.machine.kernel import compilers
from lab.machine.packetdrill import PROGRAM, RECORD, Packetdrill, home, load
from lab.machine.userland import builder as userlands
from lab.machine.userland.cache import Userland
from lab.machine.userland.lock import locked
from lab.machine.userland.program import LAUNCHERS

PATCHES = Path(__file__).parent / "patches"
SETTINGS = ("CC=gcc -static -s", "CFLAGS=-O2 -Wall")  # make's; the data for a debugger would name the folder


class PacketdrillBuildFailed(LabError):
    """Raised if the source does not compile, or if one of the lab's patches does not apply to the source."""


def build(given: Path | None, progress: Progress) -> Packetdrill:
    """Return packetdrill, from the cache or built now: from the pinned commit, or from the folder or tar file `given`.

    Raises InputError (no source), PacketdrillBuildFailed and MachineError (failed download, full disk, no compiler).
    """
    if given is None and (known := load(_ident(source.SHA256))):
        return known
    wanted = source.read(given) if given else source.fetch(progress)
    ident = _ident(wanted.sha256)
    ready = load(ident)
    if ready is None:
        compiler = userlands.build("compiler", progress)
        with alone(home(), progress):
            ready = load(ident) or _build(wanted, ident, compiler, progress)
    os.utime(home() / ident / RECORD)  # `find` returns the one that was used last
    return ready


def _ident(sha256: str) -> str:
    patches = [(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in _patches()]
    return hashlib.sha256(json.dumps([sha256, patches, locked("compiler").id, SETTINGS]).encode()).hexdigest()[:16]


def _patches() -> list[Path]:
    return sorted(PATCHES.glob("*.patch"))


def _build(wanted: PacketdrillSource, ident: str, compiler: Userland, progress: Progress) -> Packetdrill:
    place = home() / f"{UNFINISHED}{os.getpid()}"
    tree, fresh = place / "tree", place / "fresh"
    with terminable():
        try:
            tree.mkdir(parents=True)
            fresh.mkdir()
            for name, content in wanted.files.items():
                (tree / name).write_bytes(content)
            for patch in _patches():
                _run(tree, compiler, ["patch", "-p1", "--batch", "--forward"], f"{patch.name} does not apply", patch)
            progress.say("compiling packetdrill")
            goal = ["make", "-f", "Makefile.Linux", *SETTINGS, PROGRAM]
            _run(tree, compiler, goal, "it does not compile")
            shutil.copy2(tree / PROGRAM, fresh / PROGRAM)
            made = hashlib.sha256((fresh / PROGRAM).read_bytes()).hexdigest()
            ready = Packetdrill(ident, wanted.sha256, made)
            (fresh / RECORD).write_text(json.dumps(asdict(ready), indent=1) + "\n", encoding="utf-8")
            shutil.rmtree(home() / ident, ignore_errors=True)  # remains of a crash, without a record
            move(fresh, home() / ident)
        except OSError as error:
            raise MachineError(f"cannot build packetdrill in {home()}: {error.strerror}") from None
        finally:
            shutil.rmtree(place, ignore_errors=True)
    return ready


def _run(tree: Path, compiler: Userland, command: list[str], problem: str, given: Path | None = None) -> None:
    """Run one of the compiler's programs in the tree.

    Raises PacketdrillBuildFailed with the first error in its output.
    """
    launchers = compiler.tree / LAUNCHERS
    text = given.read_bytes() if given else None
    confined = compilers.confined(compiler, [tree], limits=compilers.PROGRAM, runs_code=True)
    program = [*confined, str(launchers / command[0]), *command[1:]]
    done = subprocess.run(program, cwd=tree, env=_environment(tree, compiler), input=text or b"", capture_output=True)
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
        first = next((line for line in said if re.search(r"\berror\b|\*\*\*|FAILED", line)), "")
        raise PacketdrillBuildFailed(
            f"packetdrill: {problem}: {first or (said[-1] if said else f'status {done.returncode}')}"
        )


def _environment(tree: Path, compiler: Userland) -> Mapping[str, str]:
    launchers = compiler.tree / LAUNCHERS
    return {
        "PATH": str(launchers),
        "HOME": str(tree),
        "TMPDIR": str(tree),
        "LC_ALL": "C",
        "M4": f"{launchers}/m4",
        "BISON_PKGDATADIR": f"{compiler.tree}/usr/share/bison",
    }
