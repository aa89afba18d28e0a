"""Pack a selftest for a guest: its files from the kernel source, and the compiled programs that it starts.

The locked compiler compiles the programs, with the source's own UAPI headers.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.base import cache as caches
from lab.base.archive import pack_programs
from lab.errors import LabError, MachineError
from lab.ext.suites.selftest.tree import SELFTESTS, Selftest
from lab.machine.kernel import compilers
from lab.machine.userland import cache as userlands
from lab.machine.userland.cache import Userland
from lab.machine.userland.program import LAUNCHERS

FLAGS = ("-O2", "-s", "-w", "-D_GNU_SOURCE", "-D__user=")  # __user is for the kernel's own checker, and has no effect
INCLUDED = ("include/uapi", "tools/include/uapi")  # before the compiler's own headers, which are older
SHARED = ("net", "net/lib/sh", "net/lib/py", "net/forwarding", "kselftest", "")  # folders with files that tests start
BORROWED = ("bc", "cmp", "diff")  # the compiler's programs that guests lack; both have the same C library
MOST_BYTES = 1 << 20  # of a file that may be a script


class CompileFailed(LabError):
    """Raised if a program of the selftests does not compile."""


@dataclass(frozen=True, slots=True)
class PackedTests:
    """Holds a test in the form for a guest and the programs that could not be built for the test."""

    archive: bytes  # a compressed tar file; the same bytes on every machine
    text: str  # of the test itself, and of the program with its name that it starts
    lacks: tuple[str, ...]  # the programs that do not compile, with the reason


def pack(test: Selftest) -> PackedTests:
    """Return the packed test. Raises MachineError (no compiler, no room)."""
    root = test.tree.path / SELFTESTS
    compiler = userlands.find("compiler")
    sources = {program: root / folder / f"{program}.c" for program, folder in _programs(test).items()}
    found = {} if test.compiled else dict(_scripts(test, root))
    texts = {path: (root / path).read_text(encoding="utf-8", errors="replace") for path in found}
    words = {word for text in texts.values() for word in re.findall(r"[\w.-]+", text)}
    wanted = {test.file} if test.compiled else words & sources.keys()
    lacks = []
    for program in sorted(wanted):
        try:
            found[f"{test.collection.folder}/{program}"] = _compiled(sources[program], test, compiler)
        except CompileFailed as error:
            lacks.append(str(error))
    found |= {f"bin/{name}": compiler.tree / "usr/bin" / name for name in BORROWED if name in words}
    own = [text for path, text in texts.items() if path.startswith(f"{test.collection.folder}/{test.file}")]
    program = test.file.partition(".")[0]
    own += [sources[program].read_text(encoding="utf-8")] if program in wanted else []
    packed = pack_programs({path: file.read_bytes() for path, file in found.items()})
    return PackedTests(lzma.compress(packed, preset=6), "\n".join(own), tuple(lacks))


def _programs(test: Selftest) -> Mapping[str, str]:
    """Return the source folder of each program that the test's collection compiles."""
    collection = test.collection
    return {name: collection.folder for name in (*collection.programs, *collection.helpers) if "." not in name}


def _scripts(test: Selftest, root: Path) -> Iterator[tuple[str, Path]]:
    """Yield (path below SELFTESTS, file) of the test and each file that it uses, directly or through other files."""
    beside: dict[str, list[str]] = {}
    for folder in dict.fromkeys((test.collection.folder, *SHARED)):
        for file in sorted((root / folder).glob("*")):
            if file.suffix not in (".c", ".h", ".o") and file.is_file() and file.stat().st_size <= MOST_BYTES:
                beside.setdefault(file.name, []).append(str(file.relative_to(root)))
    if test.file.endswith(".py"):
        yield from ((path, root / path) for paths in beside.values() for path in paths if "/lib/py/" in path)
    left, seen = [test.path], {test.path}
    while left:
        path = left.pop()
        yield path, root / path
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        named = (each for word in set(re.findall(r"[\w.-]+", text)) for each in beside.get(word, ()))
        fresh = sorted({*named} - seen)
        seen.update(fresh)
        left += fresh


def _compiled(source: Path, test: Selftest, compiler: Userland) -> Path:
    """Return the compiled program, from the cache or built now. Raises CompileFailed and MachineError."""
    root, kept = test.tree.path, test.tree.path.parent / _key(compiler) / test.collection.folder / source.stem
    if kept.is_file():
        return kept
    scratch = caches.folder("selftests")
    for each in (scratch, kept.parent):
        each.mkdir(parents=True, exist_ok=True)
    launchers = compiler.tree / LAUNCHERS
    includes = [f"-isystem{root / each}" for each in INCLUDED]
    own = [f"-I{source.parent}", f"-I{root / SELFTESTS}", f"-I{root / 'tools/include'}"]
    try:
        with tempfile.TemporaryDirectory(dir=scratch) as private:
            made = Path(private) / source.stem
            command = [str(launchers / "gcc"), *FLAGS, *own, *includes, "-o", str(made), source.name, "-lpthread"]
            environment = {"PATH": f"{launchers}:{os.defpath}", "HOME": private, "TMPDIR": private, "LC_ALL": "C"}
            confined = compilers.confined(
                compiler, [Path(private)], [test.tree.path], limits=compilers.PROGRAM, runs_code=False
            )
            done = subprocess.run(
                [*confined, *command],
                cwd=source.parent,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
            )
            if done.returncode:
                said = re.search(r"(?:fatal )?error: (.*)|undefined reference to .*", done.stderr)
                raise CompileFailed(f"{source.name} does not compile: {said[0] if said else done.stderr.strip()}")
            shutil.move(made, kept)
    except OSError as error:
        raise MachineError(f"cannot compile {source.name} in {kept.parent}: {error.strerror}") from None
    return kept


def _key(compiler: Userland) -> str:
    return hashlib.sha256(repr((compiler.id, FLAGS, INCLUDED)).encode()).hexdigest()[:16]
