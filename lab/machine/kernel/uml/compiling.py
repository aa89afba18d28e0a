"""Patch, configure and compile a kernel tree, in confinement.

If a step fails, the error holds the output of `patch` or `make`. A patch or a tree may be untrusted, and its code runs
here: makefiles, and programs that they compile.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lab.base import foreign
from lab.errors import LabError
from lab.machine.kernel import compilers
from lab.machine.kernel.compilers import Limits
from lab.machine.kernel.uml import fragment, precompiled, recipe
from lab.machine.kernel.uml.fragment import Fragment
from lab.machine.kernel.uml.recipe import Patch, Recipe
from lab.machine.userland.cache import Userland
from lab.machine.userland.program import LAUNCHERS

OBJECTS = 1330  # the approximate number that a build compiles, archives and links
CPU_SECONDS = 360.0  # the approximate time of a build
MOST_HEARD = 1 << 20  # bytes of a command's output that are kept
SAMPLE = "net/socket.o"  # an object that every series compiles without special options


@dataclass(frozen=True, slots=True)
class Objects:
    """Chooses where ccache stores objects and whether a build may add objects. Objects from foreign code are not
    shared.
    """

    folder: Path
    grows: bool


class BuildFailed(LabError):
    """Raised if the kernel does not build. `log` is the log of the attempt, or None."""

    def __init__(self, message: str, log: Path | None = None) -> None:
        super().__init__(message)
        self.log = log

    def __str__(self) -> str:
        return f"{self.args[0]}; the log is {self.log}" if self.log else str(self.args[0])


def patch(tree: Path, patches: Sequence[Patch], log: IO[bytes], compiler: Userland) -> None:
    """Apply patches in order. Skip patches of the lab that the tree already contains.

    Raises BuildFailed if a patch does not apply. The error names the files, or reports that the tree already contains
    the patch.
    """
    always = [str(compiler.tree / LAUNCHERS / "patch"), "-p1", "--batch", "--no-backup-if-mismatch", "--reject-file=-"]

    def run(each: Patch, *how: str) -> subprocess.CompletedProcess[bytes]:
        environment = _environment(tree, compiler, None)
        command = [*([] if each.ours else _confined(tree, compiler, None)), *always, *how]
        return subprocess.run(command, cwd=tree, env=environment, input=each.text, capture_output=True)

    for each in patches:
        log.write(f"patch {each.name}\n".encode())
        tried = run(each, "--forward", "--dry-run")
        if not tried.returncode:
            log.write(run(each, "--forward").stdout)
            continue
        log.write(tried.stdout)
        is_there = not run(each, "--reverse", "--force", "--dry-run").returncode
        if is_there and each.ours:
            log.write(b"the tree has it already\n")
            continue
        whose = "the lab's patch" if each.ours else "patch"
        reason = "the tree has it already" if is_there else _conflicts(tried.stdout.decode(errors="replace"))
        raise BuildFailed(f"{whose} {each.name} does not apply: {reason}")


def _conflicts(said: str) -> str:
    """Return the files in which `patch` failed, from its output: 'net/ipv4/tcp.c (2 of 3 hunks, the first at line
    12)'.
    """
    found = []
    for part in re.split(r"^(?=checking file |can't find file )", said, flags=re.MULTILINE):
        lacking = re.search(r"^\|\+\+\+ [^/\s]+/(\S+)", part, re.MULTILINE)
        failed = re.search(r"^(\d+) out of (\d+) hunks? (?:FAILED|ignored)", part, re.MULTILINE)
        named = re.match(r"checking file (\S+)", part)
        if part.startswith("can't find file") and lacking:
            found.append(f"there is no {lacking.group(1)}")
        elif named and failed:
            first = re.search(r"^Hunk #\d+ FAILED at (\d+)", part, re.MULTILINE)
            where = f", the first at line {first.group(1)}" if first else ""
            hunks = f"{failed.group(1)} of {failed.group(2)} hunk{'' if failed.group(2) == '1' else 's'}"
            found.append(f"{named.group(1)} ({hunks}{where})")
    return "; ".join(found) or (said.strip().splitlines() or ["no reason given"])[-1]


def configure(tree: Path, made: Recipe, log: IO[bytes], compiler: Userland, fragments: Sequence[Fragment] = ()) -> None:
    """Configure the tree with the recipe's configuration, which includes `fragments`.

    Raises SpecError if kconfig drops an option in the fragments, and BuildFailed if it drops an option of the lab.
    """
    wrap(tree)
    (tree / "lab.config").write_text(made.config, encoding="utf-8")
    make(tree, ["allnoconfig", "KCONFIG_ALLCONFIG=lab.config"], log, compiler)
    resolved = (tree / ".config").read_text(encoding="utf-8")
    fragment.check(fragments, resolved, tree)
    given = {str(option) for each in fragments for option in each.options}
    lost = [line for line in recipe.lost_options(made.config, resolved) if line not in given]
    if lost:
        log.write("".join(f"lost: {line}\n" for line in lost).encode())
        raise BuildFailed(f"the configuration did not keep {', '.join(lost)}")


def wrap(tree: Path) -> None:
    """Write the command that compiles the objects of a tree (see `precompiled`)."""
    wrapper = tree / recipe.COMPILER
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", "-S", precompiled.__file__])} "$@"\n')
    wrapper.chmod(0o755)


def precompile(tree: Path, log: IO[bytes], compiler: Userland, objects: Objects) -> None:
    """Build the header from which objects start (see `precompiled`).

    If the header does not compile, objects start without it. Raises BuildFailed.
    """
    make(tree, ["prepare"], log, compiler, objects=objects)  # the headers that the kernel's own build writes
    options = tree / f"{precompiled.SHARED}.options"
    for each in (tree / SAMPLE, options):  # an earlier build's header may contain other files
        each.unlink(missing_ok=True)
    make(tree, [SAMPLE], log, compiler, environment={precompiled.MAKE: "1"})
    if not options.exists():
        (tree / precompiled.STAMP).unlink(missing_ok=True)  # objects that started from it are out of date


def said(tree: Path, compiler: Userland, command: Sequence[str]) -> str:
    """Return the output of a command that reads or runs a file built in the tree."""
    return run(tree, compiler, command).stdout.decode(errors="replace")


def run(tree: Path, compiler: Userland, command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    """Run a command that reads or runs a file in the tree. Return its exit status and its output, byte for byte."""
    return subprocess.run(
        [*_confined(tree, compiler, None), *command],
        cwd=tree,
        env=_environment(tree, compiler, None),
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )


def collect(tree: Path, name: str, target: Path) -> None:
    """Copy a built file out of the tree. Raises BuildFailed if the file is not a regular file, and OSError."""
    try:
        with foreign.opened(tree / name) as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
    except foreign.Unfit as error:
        raise BuildFailed(f"it left {error} as {name}") from None


def make(
    tree: Path,
    goals: Sequence[str],
    log: IO[bytes],
    compiler: Userland,
    step: Callable[[int, int], None] | None = None,
    environment: Mapping[str, str] | None = None,
    objects: Objects | None = None,
) -> None:
    """Run make, and wait for it and its children.

    `step` is called with the number of finished objects, out of about OBJECTS. make finds only the programs of
    `compiler`. ccache stores their results in `objects`, so a variant of a kernel takes only a minute. Raises
    BuildFailed.
    """
    jobs = len(os.sched_getaffinity(0)) + 1  # one more, for the time that one waits for the disk
    settings = (f"{name}={value}" for name, value in recipe.SETTINGS.items())
    done = 0
    problem = ""

    def hear(line: bytes) -> None:
        nonlocal done, problem
        log.write(line)
        if re.match(rb"  (CC|AS|AR|LD) ", line) and step is not None:
            done += 1
            step(done, max(OBJECTS, done))
        if not problem and re.search(rb"\berror\b|\*\*\*|fatal:|\bld:(?!.*warning)", line, re.IGNORECASE):
            problem = line.decode(errors="replace").strip()

    command = [*_confined(tree, compiler, objects), "make", "--jobserver-style=pipe", f"-j{jobs}", *settings, *goals]
    around = _environment(tree, compiler, objects) | dict(environment or {})
    status = _execute(command, tree, around, compilers.KERNEL, f"make {goals[0]}", hear)
    if status:
        raise BuildFailed(f"make {goals[0]} failed: {problem or f'exit status {status}'}")


def shell(
    tree: Path, script: str, log: IO[bytes], compiler: Userland, environment: Mapping[str, str], readable: Path
) -> None:
    """Run a command of a kernel's build in the shell that its makefiles use, with the variables in `environment`.

    The command can also read the files in `readable`. Raises BuildFailed with the beginning of the command's output.
    """
    heard = bytearray()

    def hear(line: bytes) -> None:
        if len(heard) < MOST_HEARD:
            log.write(line)
            heard.extend(line)

    confined = compilers.confined(compiler, [tree], [readable], limits=compilers.PROGRAM, runs_code=True)
    command = [*confined, "bash", "-e", "-c", script]
    around = dict(environment) | _environment(tree, compiler, None)
    if status := _execute(command, tree, around, compilers.PROGRAM, "the build", hear):
        raise BuildFailed(heard.decode(errors="replace") or f"exit status {status}")


def _execute(
    command: Sequence[str],
    tree: Path,
    environment: Mapping[str, str],
    limits: Limits,
    name: str,
    hear: Callable[[bytes], None],
) -> int:
    """Run a command in the tree, wait for it and its children, and return its exit status.

    `hear` is called with each line of output. Raises BuildFailed if the command takes too long.
    """
    process = subprocess.Popen(
        command,
        cwd=tree,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=0,  # of its own, so that it can be ended as a whole; it stays in this session for its priority
    )
    assert process.stdout is not None
    timer = threading.Timer(limits.wall.seconds, _kill, [process.pid])
    timer.daemon = True
    try:
        timer.start()  # a Ctrl-C may come in here, too
        for line in process.stdout:
            hear(line)
        process.wait()  # it may close its output before it ends
    finally:
        late = not timer.is_alive()
        timer.cancel()
        _kill(process.pid)
        process.stdout.close()
        process.wait()
    if late:
        raise BuildFailed(f"{name} did not end within {limits.wall}")
    return process.returncode


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _confined(tree: Path, compiler: Userland, objects: Objects | None) -> list[str]:
    if objects is not None:
        objects.folder.mkdir(parents=True, exist_ok=True)
    shared = [objects.folder] if objects else []
    writable, readable = ([tree, *shared], []) if objects and objects.grows else ([tree], shared)
    return compilers.confined(compiler, writable, readable, limits=compilers.KERNEL, runs_code=True)


def _environment(tree: Path, compiler: Userland, objects: Objects | None) -> dict[str, str]:
    """Return the environment for the compiler's programs, which tells them where to find each other and their parts."""
    launchers = compiler.tree / LAUNCHERS
    seen = {
        "PATH": str(launchers),
        "HOME": str(tree),
        "TMPDIR": str(tree),
        "LC_ALL": "C",
        "TZ": "UTC",
        "M4": f"{launchers}/m4",
        "BISON_PKGDATADIR": f"{compiler.tree}/usr/share/bison",
    }
    if objects is None:
        return {**seen, "CCACHE_DISABLE": "1"}
    if not objects.grows:
        seen |= {"CCACHE_READONLY": "1", "CCACHE_NOSTATS": "1", "CCACHE_TEMPDIR": str(tree / "lab-ccache")}
    return {
        **seen,
        "CCACHE_DIR": str(objects.folder),
        "CCACHE_DEPEND": "1",  # trust the compiler's list of headers: preprocessing before it took a fifth of a build
        "CCACHE_SLOPPINESS": "include_file_ctime",  # a new or removed link to a file does not change the file
        "CCACHE_MAXSIZE": "1G",
        "CCACHE_BASEDIR": str(tree),
        "CCACHE_COMPILERTYPE": "gcc",
        "CCACHE_COMPILERCHECK": f"string:{compiler.id} {recipe.compiler_digest()}",
    }
