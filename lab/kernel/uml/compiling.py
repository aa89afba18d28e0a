"""Patch, configure and compile a kernel tree, and say what `patch` and `make` say when they fail."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from lab.errors import LabError
from lab.kernel.base import folder
from lab.kernel.uml import fragment, precompiled, recipe
from lab.kernel.uml.fragment import Fragment
from lab.kernel.uml.recipe import Patch, Recipe
from lab.userland.cache import Userland
from lab.userland.program import LAUNCHERS

__all__ = ["BuildFailed", "configure", "make", "patch", "precompile", "shared_text"]

SAMPLE = "net/socket.o"  # an object that is compiled by no options of its own, in every series


class BuildFailed(LabError):
    """The kernel does not build; `log` is what was kept of the attempt, None when nothing was."""

    def __init__(self, message: str, log: Path | None = None) -> None:
        super().__init__(message)
        self.log = log

    def __str__(self) -> str:
        return f"{self.args[0]}; the log is {self.log}" if self.log else str(self.args[0])


def patch(tree: Path, patches: Sequence[Patch], log: IO[bytes], compiler: Userland) -> None:
    """Apply patches in order; of the lab's own, those that the tree does not have already.

    Raises BuildFailed when one does not apply: it names the files, or says that the tree has it.
    """
    always = [str(compiler.tree / LAUNCHERS / "patch"), "-p1", "--batch", "--no-backup-if-mismatch", "--reject-file=-"]

    def run(each: Patch, *how: str) -> subprocess.CompletedProcess[bytes]:
        environment = _environment(tree, compiler)
        return subprocess.run([*always, *how], cwd=tree, env=environment, input=each.text, capture_output=True)

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
    """Return from what `patch` said which files it fails in: 'net/ipv4/tcp.c (2 of 3 hunks, the first at line 12)'."""
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
    """Give the tree the recipe's configuration, of which `fragments` are a part.

    Raises SpecError when kconfig does not keep all of these, BuildFailed when it does not keep all of the lab's.
    """
    wrapper = tree / recipe.COMPILER
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", "-S", precompiled.__file__])} "$@"\n')
    wrapper.chmod(0o755)
    (tree / "lab.config").write_text(made.config, encoding="utf-8")
    make(tree, ["allnoconfig", "KCONFIG_ALLCONFIG=lab.config"], log, compiler)
    resolved = (tree / ".config").read_text(encoding="utf-8")
    fragment.check(fragments, resolved, tree)
    given = {str(option) for each in fragments for option in each.options}
    lost = [line for line in recipe.lost_options(made.config, resolved) if line not in given]
    if lost:
        log.write("".join(f"lost: {line}\n" for line in lost).encode())
        raise BuildFailed(f"the configuration did not keep {', '.join(lost)}")


def precompile(tree: Path, log: IO[bytes], compiler: Userland) -> None:
    """Make the header from which objects start (lab.kernel.uml.precompiled); where it does not compile, there is none.

    Raises BuildFailed.
    """
    make(tree, ["prepare"], log, compiler)  # the headers that the kernel's own build writes
    options = tree / f"{precompiled.SHARED}.options"
    for each in (tree / SAMPLE, options):  # an earlier build's header may be of other files
        each.unlink(missing_ok=True)
    make(tree, [SAMPLE], log, compiler, environment={precompiled.MAKE: "1", "CCACHE_DISABLE": "1"})
    if not options.exists():
        (tree / precompiled.STAMP).unlink(missing_ok=True)  # what started from it is out of date


def shared_text(tree: Path, compiler: Userland) -> str:
    """Return what the compiler reads for the header from which objects start, with all macros; "" where there is none.

    Raises BuildFailed.
    """
    options = tree / f"{precompiled.SHARED}.options"
    if not options.exists():
        return ""
    given = [each for each in options.read_text(encoding="utf-8").split("\n") if each != "-c"]
    command = ["gcc", *given, "-E", "-P", "-dD", "-x", "c-header", precompiled.SHARED]
    environment = _environment(tree, compiler)
    done = subprocess.run(
        [str(compiler.tree / LAUNCHERS / command[0]), *command[1:]], cwd=tree, env=environment, capture_output=True
    )
    if done.returncode:
        raise BuildFailed(f"the shared headers cannot be read: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode("latin-1")


def make(
    tree: Path,
    goals: Sequence[str],
    log: IO[bytes],
    compiler: Userland,
    step: Callable[[int, int], None] | None = None,
    expected: int = 1,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run make and return how many objects it made; `step` counts them, of the number `expected`.

    However this ends, make and its children have ended too.

    All programs that make finds are the `compiler`'s. ccache keeps what they made: a variant of a kernel is then a
    matter of a minute. Raises BuildFailed.
    """
    jobs = len(os.sched_getaffinity(0)) + 1  # while one waits for the disk
    settings = (f"{name}={value}" for name, value in recipe.SETTINGS.items())
    process = subprocess.Popen(
        [str(compiler.tree / LAUNCHERS / "setpriv"), "--pdeathsig", "KILL", "make", f"-j{jobs}", *settings, *goals],
        cwd=tree,
        env=_environment(tree, compiler) | dict(environment or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=0,  # of its own, to be ended whole; in our session, whose priority it keeps
    )
    assert process.stdout is not None
    done = 0
    problem = ""
    try:
        for line in process.stdout:
            log.write(line)
            if re.match(rb"  (CC|AS|AR|LD) ", line) and step is not None:
                done += 1
                step(done, max(expected, done))
            if not problem and re.search(rb"\berror\b|\*\*\*|fatal:|\bld:(?!.*warning)", line, re.IGNORECASE):
                problem = line.decode(errors="replace").strip()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
    if process.returncode:
        raise BuildFailed(f"make {goals[0]} failed: {problem or f'exit status {process.returncode}'}")
    return done


def _environment(tree: Path, compiler: Userland) -> dict[str, str]:
    """Return what the compiler's programs see of the machine: each other, and where a few of them keep their parts."""
    launchers = compiler.tree / LAUNCHERS
    return {
        "PATH": str(launchers),
        "HOME": str(tree),
        "LC_ALL": "C",
        "TZ": "UTC",
        "M4": f"{launchers}/m4",
        "BISON_PKGDATADIR": f"{compiler.tree}/usr/share/bison",
        "CCACHE_DIR": str(folder() / "ccache"),
        "CCACHE_DEPEND": "1",  # it trusts the compiler's list of headers: preprocessing first took a fifth of a build
        "CCACHE_SLOPPINESS": "include_file_ctime",  # another link of a file, made or removed, is no change of it
        "CCACHE_MAXSIZE": "1G",
        "CCACHE_BASEDIR": str(tree),
        "CCACHE_COMPILERTYPE": "gcc",
        "CCACHE_COMPILERCHECK": f"string:{compiler.id} {recipe.compiler_digest()}",
    }
