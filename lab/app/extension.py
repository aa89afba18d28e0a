"""Find the commands, functions and hooks of extensions.

The core names only the hooks that it needs, and no extension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from lab.errors import InputError
from lab.ext import EXTENSIONS, Extension


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
