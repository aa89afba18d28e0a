"""Describe the contents of a userland: packages by name, and the steps that replace their scripts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab.machine.userland import lock
from lab.machine.userland.lock import Name


@dataclass(frozen=True, slots=True)
class UserlandRecipe:
    """Holds the contents of a file NAME.toml in the folder of the locks. Comments in the files explain the fields.

    A recipe that `extends` a base recipe includes all of its contents.
    """

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
    libraries: Mapping[str, str]
    commands: tuple[str, ...]
    launchers: Mapping[str, str]
    bytecode: tuple[str, ...]


def read(name: Name) -> UserlandRecipe:
    """Return the recipe of a userland."""
    plain = _plain(name)
    many: dict[str, Any] = {
        key: tuple(plain.get(key, ())) for key in ("packages", "remove", "folders", "commands", "bytecode")
    }
    tables = ("links", "outward", "files", "programs", "libraries", "launchers")
    named: dict[str, Any] = {key: plain.get(key, {}) for key in tables}
    return UserlandRecipe(name, plain["suite"], without=frozenset(plain.get("without", ())), **many, **named)


def _plain(name: Name) -> dict[str, Any]:
    own = tomllib.loads(lock.file_of(name).with_suffix(".toml").read_text(encoding="utf-8"))
    base = _plain(own.pop("extends")) if "extends" in own else {}
    return base | {key: _joined(base[key], value) if key in base else value for key, value in own.items()}


def _joined(base: Any, own: Any) -> Any:
    """Return a list or a table of the base recipe, followed by the entries of the extending recipe."""
    return base | own if isinstance(own, dict) else [*base, *own]
