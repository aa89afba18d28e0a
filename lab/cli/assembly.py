"""Put the commands together, in the order in which `lab --help` shows them: all, or what one of them needs."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated

import typer

__all__ = ["PARTS", "assembled"]

# Each module of lab.cli.commands has an app of its name, with these commands or, in _GROUPS, as a group of this name.
PARTS: Mapping[str, tuple[str, ...]] = {
    "machine": ("doctor",),
    "declaring": ("check", "list", "new", "schema"),
    "running": ("run", "watch"),
    "campaigns": ("plan", "merge", "push"),
    "stored": ("report", "show", "export", "verify", "bundle", "clean"),
    "course": ("grade",),
    "comparing": ("compare", "regress", "bisect", "atlas", "baseline"),
    "networks": ("graph", "shell", "mn", "mixed"),
    "kernels": ("kernel",),
    "store": ("store",),
    "userlands": ("userland",),
    "scripts": ("packetdrill",),
    "selftests": ("selftest",),
    "ci": ("ci",),
}
_GROUPS = ("kernels", "store", "userlands", "scripts", "selftests", "ci")


def assembled(first: str = "") -> typer.Typer:
    """Return the command line; if its first argument is a command's name, without the others, which take a while."""
    app = typer.Typer(
        name="lab",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_root)
    for part in [part for part, commands in PARTS.items() if first in commands] or PARTS:
        commands = getattr(import_module(f"lab.cli.commands.{part}"), part)
        app.add_typer(commands, name=PARTS[part][0] if part in _GROUPS else None)
    return app


def _say_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # a fifth of what a command line imports, for this alone

        typer.echo(f"replab {version('replab')}")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version, and nothing else."),
    ] = False,
) -> None:
    """A network lab whose results anyone can reproduce to the byte."""
