"""Say what a userland is to hold: packages by name, and what is done to them instead of running their scripts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab.userland import lock
from lab.userland.lock import Name

__all__ = ["Recipe", "read"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hold one of the files NAME.toml beside the locks, which explain these fields."""

    name: Name
    suite: str
    packages: tuple[str, ...]
    without: frozenset[str]
    remove: tuple[str, ...]
    folders: tuple[str, ...]
    links: Mapping[str, str]
    outward: Mapping[str, str]
    files: Mapping[str, str]
    programs: Mapping[str, str]
    commands: tuple[str, ...]
    launchers: Mapping[str, str]
    bytecode: tuple[str, ...]


def read(name: Name) -> Recipe:
    """Read the recipe of a userland."""
    plain = tomllib.loads(lock.file_of(name).with_suffix(".toml").read_text(encoding="utf-8"))
    many: dict[str, Any] = {
        key: tuple(plain.get(key, ())) for key in ("packages", "remove", "folders", "commands", "bytecode")
    }
    named: dict[str, Any] = {key: plain.get(key, {}) for key in ("links", "outward", "files", "programs", "launchers")}
    return Recipe(name, plain["suite"], without=frozenset(plain.get("without", ())), **many, **named)
