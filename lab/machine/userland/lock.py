"""Read and write lock files: the exact packages of a userland."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from lab.errors import InputError, MachineError

HERE = Path(__file__).parent
Name = Literal["guest", "programs", "mininet", "compiler", "lab", "keyring"]
NAMES: tuple[Name, ...] = get_args(Name)

HEADER = """\
# The packages of a userland, and the SHA-256 of the tree that they make. `lab userland lock` writes this file.
# A package's line: its name, version, SHA-256, size in bytes, and path below a mirror.
"""
FIELDS = {  # a field of the file -> the pattern of its value
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
    """Identifies one binary package in an archive."""

    name: str
    version: str
    sha256: str
    size: int  # bytes
    path: str  # below a mirror, "pool/main/b/bash/bash_5.2.37-2+b10_amd64.deb"


@dataclass(frozen=True, slots=True)
class Lock:
    """Holds the contents of a lock file. Equal locks give equal trees on every machine."""

    suite: str  # "trixie"
    date: str  # of the suite's signed index, "2026-09-12T07:55:41Z"; the date of all files in the tree
    snapshot: str  # when the mirror offered that index: an archive of all versions needs this time
    tree: str  # SHA-256 of the tree's manifest
    packages: tuple[Package, ...]  # by name

    @property
    def id(self) -> str:
        """The 16 hex digits that name the tree. Trees with equal bytes have equal ids."""
        return self.tree[:16]


def file_of(name: Name) -> Path:
    """Return the path of a userland's lock."""
    return HERE / f"{name}.lock"


def locked(name: Name) -> Lock:
    """Return the lock of a userland.

    Raises InputError if the lock file has a mistake, and MachineError if the file is missing.
    """
    file = file_of(name)
    try:
        return parse(file.read_text(encoding="utf-8"), str(file))
    except FileNotFoundError:
        raise MachineError(f"{file} is missing; `lab userland lock` makes it") from None


@lru_cache(maxsize=16)  # every case of every claim asks for one of a few
def parse(text: str, file: str) -> Lock:
    """Return the lock in `text`. Raises InputError with every wrong line of `file`."""
    fields: dict[str, str] = {}
    packages: dict[str, Package] = {}
    mistakes: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        key, colon, value = line.partition(": ")
        if colon and key in FIELDS:
            if key in fields:
                mistakes.append(f"{file}:{number}: '{key}' is here a second time")
            elif not re.fullmatch(FIELDS[key], value):
                mistakes.append(f"{file}:{number}: '{value}' is not a {key}")
            fields[key] = value
        elif match := PACKAGE.fullmatch(line):
            if match["name"] in packages:
                mistakes.append(f"{file}:{number}: package {match['name']} is here a second time")
            name, version, sha256, size, path = match.groups()
            packages[name] = Package(name, version, sha256, int(size), path)
        else:
            mistakes.append(f"{file}:{number}: neither a field nor a package with version, SHA-256, size and path")
    mistakes += [f"{file}:1: no {key} is given" for key in FIELDS if key not in fields]
    if mistakes:
        raise InputError("\n".join(mistakes))
    return Lock(**fields, packages=_sorted(packages.values()))


def render(lock: Lock) -> str:
    """Return the text of the file for a lock."""
    fields = "".join(f"{key}: {getattr(lock, key)}\n" for key in FIELDS)
    lines = (f"{each.name} {each.version} {each.sha256} {each.size} {each.path}\n" for each in _sorted(lock.packages))
    return f"{HEADER}{fields}\n{''.join(lines)}"


def _sorted(packages: Iterable[Package]) -> tuple[Package, ...]:
    return tuple(sorted(packages, key=lambda each: each.name))
