"""Read and write lock files: which packages, to the byte, a userland is made of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from lab.errors import InputError, MachineError

__all__ = ["NAMES", "Lock", "Name", "Package", "file_of", "locked", "parse", "render"]

HERE = Path(__file__).parent
Name = Literal["guest", "programs", "compiler", "lab", "keyring"]
NAMES: tuple[Name, ...] = get_args(Name)

HEADER = """\
# The packages of a userland, and the SHA-256 of the tree that they make. `lab userland lock` writes this file.
# A package's line: its name, version, SHA-256, size in bytes, and path below a mirror.
"""
FIELDS = {  # of the whole file -> what its value looks like
    "suite": r"[a-z][a-z-]*",
    "date": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "snapshot": r"\d{8}T\d{6}Z",
    "tree": r"[0-9a-f]{64}",
}
PACKAGE = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9+.-]*) (?P<version>[0-9A-Za-z][0-9A-Za-z.+~:-]*) (?P<sha256>[0-9a-f]{64}) "
    r"(?P<size>[1-9][0-9]{0,11}) (?P<path>pool(?:/[0-9A-Za-z_+~%][0-9A-Za-z._+~%:-]*)+\.deb)"
)


@dataclass(frozen=True, slots=True)
class Package:
    """Name one binary package of an archive."""

    name: str
    version: str
    sha256: str
    size: int  # bytes
    path: str  # below a mirror, "pool/main/b/bash/bash_5.2.37-2+b10_amd64.deb"


@dataclass(frozen=True, slots=True)
class Lock:
    """Hold what a lock file says. Equal locks make equal trees, on every machine."""

    suite: str  # "trixie"
    date: str  # of the suite's signed index, "2026-09-12T07:55:41Z"; files of the tree carry it
    snapshot: str  # when the mirror offered that index: the time to ask an archive of all times for
    tree: str  # SHA-256 of the tree's manifest
    packages: tuple[Package, ...]  # by name

    @property
    def id(self) -> str:
        """Return 16 hex digits that name the tree: the same bytes have the same id."""
        return self.tree[:16]


def file_of(name: Name) -> Path:
    """Return where the lock of a userland lies."""
    return HERE / f"{name}.lock"


def locked(name: Name) -> Lock:
    """Return what a userland is locked to. Raises InputError when the file has a mistake, MachineError without it."""
    file = file_of(name)
    try:
        return parse(file.read_text(encoding="utf-8"), str(file))
    except FileNotFoundError:
        raise MachineError(f"{file} is missing: `lab userland lock` makes it") from None


def parse(text: str, file: str) -> Lock:
    """Read the lock in `text`. Raises InputError, which names each wrong line of `file`."""
    fields: dict[str, str] = {}
    packages: dict[str, Package] = {}
    mistakes: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        key, colon, value = line.partition(": ")
        if colon and key in FIELDS:
            if key in fields:
                mistakes.append(f"{file}:{number}: '{key}' stands here a second time")
            elif not re.fullmatch(FIELDS[key], value):
                mistakes.append(f"{file}:{number}: '{value}' is no {key}")
            fields[key] = value
        elif match := PACKAGE.fullmatch(line):
            if match["name"] in packages:
                mistakes.append(f"{file}:{number}: package {match['name']} stands here a second time")
            name, version, sha256, size, path = match.groups()
            packages[name] = Package(name, version, sha256, int(size), path)
        else:
            mistakes.append(f"{file}:{number}: neither a field nor a package with version, SHA-256, size and path")
    mistakes += [f"{file}:1: no {key} is given" for key in FIELDS if key not in fields]
    if mistakes:
        raise InputError("\n".join(mistakes))
    return Lock(**fields, packages=_sorted(packages.values()))


def render(lock: Lock) -> str:
    """Write a lock as the text of a file."""
    fields = "".join(f"{key}: {getattr(lock, key)}\n" for key in FIELDS)
    lines = (f"{each.name} {each.version} {each.sha256} {each.size} {each.path}\n" for each in _sorted(lock.packages))
    return f"{HEADER}{fields}\n{''.join(lines)}"


def _sorted(packages: Iterable[Package]) -> tuple[Package, ...]:
    return tuple(sorted(packages, key=lambda each: each.name))
