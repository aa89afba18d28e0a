"""Find the commands, functions and hooks of extensions.

The core names only the hooks that it needs, and no extension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from lab.errors import InputError
from lab.ext import EXTENSIONS


@dataclass(frozen=True)
class Extension:
    """Describes the commands, functions and hooks of an extension. Each extension package defines one as EXTENSION.

    The package's module `commands` has a Typer app `app` with these `commands`. With `group`, the commands form a group
    of that name. The package's module `api` has these `functions`, which `import lab` also offers. `hooks` maps the
    name of each hook to its function, "module:function". The core calls hooks for options of its own commands. The help
    lists the commands in the section `section`, each with its `examples`.
    """

    commands: tuple[str, ...] = ()
    group: str = ""
    section: str = ""
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by command, with its group: "cluster plan"
    functions: tuple[str, ...] = ()
    hooks: Mapping[str, str] = field(default_factory=dict)


def extensions() -> Iterator[tuple[str, Extension]]:
    """Yield each extension with its package name."""
    for name in EXTENSIONS:
        package = f"lab.ext.{name}"
        yield package, import_module(package).EXTENSION


def functions() -> Iterator[str]:
    """Yield the names of the functions that extensions offer to users."""
    for _, each in extensions():
        yield from each.functions


def function(name: str) -> Callable[..., Any] | None:
    """Return the function of this name that an extension offers to users, or None."""
    return next((_of(f"{package}.api", name) for package, each in extensions() if name in each.functions), None)


def hook(name: str, asked: str) -> Callable[..., Any]:
    """Return the extension's function for a hook of the core, such as an option.

    Raises InputError if no installed extension has the hook.
    """
    for found in hooks(name):
        return found
    raise InputError(f"{asked}: no extension of this lab provides it")


def hooks(name: str) -> Iterator[Callable[..., Any]]:
    """Yield the functions of all extensions that have this hook of the core."""
    for package, each in extensions():
        if name in each.hooks:
            module, _, of = each.hooks[name].partition(":")
            yield _of(f"{package}.{module}", of)


def _of(module: str, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found
