"""Say what a userland is to hold: packages by name, and what is done to them instead of running their scripts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from lab.errors import MachineError
from lab.userland import lock
from lab.userland.lock import Lock

__all__ = ["NAMES", "Name", "Recipe", "lock_file", "locked", "read"]

HERE = Path(__file__).parent
Name = Literal["guest", "compiler"]
NAMES: tuple[Name, ...] = get_args(Name)


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hold one of the files NAME.toml, which explain these fields."""

    name: Name
    suite: str
    packages: tuple[str, ...]
    without: frozenset[str]
    remove: tuple[str, ...]
    folders: tuple[str, ...]
    links: Mapping[str, str]
    files: Mapping[str, str]
    programs: Mapping[str, str]
    commands: tuple[str, ...]
    launchers: Mapping[str, str]
    bytecode: tuple[str, ...]


def read(name: Name) -> Recipe:
    """Read the recipe of a userland."""
    plain = tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))
    many: dict[str, Any] = {
        key: tuple(plain.get(key, ())) for key in ("packages", "remove", "folders", "commands", "bytecode")
    }
    named: dict[str, Any] = {key: plain.get(key, {}) for key in ("links", "files", "programs", "launchers")}
    return Recipe(name, plain["suite"], without=frozenset(plain.get("without", ())), **many, **named)


def lock_file(name: Name) -> Path:
    """Return where the lock of a userland lies."""
    return HERE / f"{name}.lock"


def locked(name: Name) -> Lock:
    """Return what the userland is locked to. Raises InputError when the file has a mistake, MachineError without it."""
    file = lock_file(name)
    try:
        return lock.parse(file.read_text(encoding="utf-8"), str(file))
    except FileNotFoundError:
        raise MachineError(f"{file} is missing: `lab userland lock` makes it") from None
