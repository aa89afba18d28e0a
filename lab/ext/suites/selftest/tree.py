"""Unpack the selftests of a kernel's packaged source once, and list the tests in them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from lab.base import cache as caches
from lab.base.building import UNFINISHED, Progress, alone
from lab.base.moving import move
from lab.errors import InputError, MachineError
from lab.machine.kernel.base import folder as kernels
from lab.machine.kernel.uml import source
from lab.machine.kernel.uml.source import Source
from lab.machine.userland import builder as userlands
from lab.spec.errors import suggestion

NAME = "selftests"
SELFTESTS = "tools/testing/selftests"  # in a kernel's tree
NEEDED = (SELFTESTS, "tools/include", "include/uapi")  # for the tests, and to compile their programs
COLLECTIONS = ("net", "net/mptcp")
SECONDS = 45.0  # the default limit of a test: kselftest_default_timeout


@dataclass(frozen=True, slots=True)
class SelftestTree:
    """Identifies a folder with the selftests of one kernel version, laid out as in the source."""

    path: Path
    version: str


@dataclass(frozen=True, slots=True)
class SelftestCollection:
    """Holds the tests in the Makefile of a folder."""

    folder: str  # below SELFTESTS
    scripts: tuple[str, ...]
    programs: tuple[str, ...]  # compiled programs that are tests themselves
    helpers: tuple[str, ...]  # programs that scripts start
    seconds: float  # the limit of each of its tests

    @classmethod
    def read(cls, tree: SelftestTree, folder: str) -> SelftestCollection:
        """Return the collection from the Makefile and the settings of a folder."""
        place = tree.path / SELFTESTS / folder
        text = (place / "Makefile").read_text(encoding="utf-8")
        settings = place / "settings"
        limit = re.search(r"^timeout=(\d+)", settings.read_text() if settings.exists() else "", re.MULTILINE)
        scripts, programs, helpers = (
            tuple(_listed(text, name)) for name in ("TEST_PROGS", "TEST_GEN_PROGS", "TEST_GEN_FILES")
        )
        return cls(folder, scripts, programs, helpers, float(limit.group(1)) if limit else SECONDS)


@dataclass(frozen=True, slots=True)
class Selftest:
    """Identifies one test."""

    tree: SelftestTree
    collection: SelftestCollection
    file: str

    @property
    def path(self) -> str:
        """The path below SELFTESTS."""
        return f"{self.collection.folder}/{self.file}"

    @property
    def name(self) -> str:
        """The display name: the test's path below net/."""
        return self.path.removeprefix("net/")

    @property
    def compiled(self) -> bool:
        """Whether the test is a program and not a script."""
        return self.file in self.collection.programs


def find(wanted: Sequence[str], series: str, progress: Progress) -> tuple[Selftest, ...]:
    """Return the tests whose names match these patterns, in the kernel's own order. Without a pattern, return all.

    Raises InputError if a pattern matches no test, and MachineError if there is no source.
    """
    found = of_kernel(series, progress)
    for pattern in wanted:
        if not any(fnmatchcase(test.name, pattern) for test in found):
            hint = suggestion(pattern, (test.name for test in found)) or "; `lab selftest list` shows all names"
            raise InputError(f"no network test in the source of {series} is called '{pattern}'{hint}")
    return tuple(test for test in found if not wanted or any(fnmatchcase(test.name, each) for each in wanted))


def of_kernel(series: str, progress: Progress) -> tuple[Selftest, ...]:
    """Return the network tests in a kernel's packaged source, fetched and unpacked once.

    Raises MachineError if there is no source, or the source has no tests.
    """
    found = source.resolve(kernels(), series, False, progress)
    place = caches.folder(NAME) / found.sha256[:16] / "tree"
    if not place.is_dir():
        with alone(caches.folder(NAME), progress):
            if not place.is_dir():
                _unpack(found, place, progress)
    tree = SelftestTree(place, found.version)
    collections = [each for each in COLLECTIONS if (place / SELFTESTS / each / "Makefile").exists()]
    if not collections:
        raise MachineError(f"the source of {found.version} has no network selftests")
    return tuple(
        Selftest(tree, collection, file)
        for collection in (SelftestCollection.read(tree, each) for each in collections)
        for file in sorted((*collection.scripts, *collection.programs))
    )


def _unpack(found: Source, place: Path, progress: Progress) -> None:
    file = source.fetch(kernels(), found, progress)
    compiler = userlands.build("compiler", progress)
    progress.say(f"unpacking the selftests of {found.version}")
    fresh = place.parent.with_name(f"{UNFINISHED}{os.getpid()}")
    try:
        fresh.mkdir(parents=True)
        source.parts(file, NEEDED, fresh / place.name, compiler)
        place.parent.mkdir(parents=True, exist_ok=True)
        move(fresh / place.name, place)
    except OSError as error:
        raise MachineError(f"cannot unpack {file} in {place.parent}: {error.strerror}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _listed(makefile: str, variable: str) -> Iterator[str]:
    """Yield the words that a Makefile assigns to a variable, except words that `make` would compute."""
    for match in re.finditer(rf"^{variable}\s*[:+]?=((?:.*\\\n)*.*)", makefile, re.MULTILINE):
        text = re.sub(r"#.*", "", match.group(1)).replace("\\\n", " ")
        while (plain := re.sub(r"\$\([^()]*\)", "", text)) != text:
            text = plain
        yield from text.split()
