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
    """Hold one of the files NAME.toml beside the locks, which explain these fields.

    One that `extends` another has all that is in that one, too.
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


def read(name: Name) -> Recipe:
    """Read the recipe of a userland."""
    plain = _plain(name)
    many: dict[str, Any] = {
        key: tuple(plain.get(key, ())) for key in ("packages", "remove", "folders", "commands", "bytecode")
    }
    tables = ("links", "outward", "files", "programs", "libraries", "launchers")
    named: dict[str, Any] = {key: plain.get(key, {}) for key in tables}
    return Recipe(name, plain["suite"], without=frozenset(plain.get("without", ())), **many, **named)


def _plain(name: Name) -> dict[str, Any]:
    own = tomllib.loads(lock.file_of(name).with_suffix(".toml").read_text(encoding="utf-8"))
    base = _plain(own.pop("extends")) if "extends" in own else {}
    return base | {key: _joined(base[key], value) if key in base else value for key, value in own.items()}


def _joined(base: Any, own: Any) -> Any:
    """Return a list or a table of the recipe that is extended, followed by the extending one's."""
    return base | own if isinstance(own, dict) else [*base, *own]
