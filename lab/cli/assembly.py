"""Assemble the commands: all commands, or only the commands that one command line needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated

import typer
from typer.models import CommandInfo

from lab.app.extension import extensions
from lab.cli.examples import EXAMPLES
from lab.cli.helping import HelpfulCommand, HelpfulGroup, example

# Each module of lab.cli.commands has an app of its name, with these commands, or with a group of this name in _GROUPS.
PARTS: Mapping[str, tuple[str, ...]] = {
    "declaring": ("check", "list", "schema"),
    "running": ("run",),
    "stored": ("report",),
    "kernels": ("kernel",),
    "userlands": ("userland",),
}
_GROUPS = ("kernels", "userlands")


@dataclass(frozen=True)
class CommandPart:
    """Describes the commands of one module. In the module, `app` names either a command group or an app with these
    commands.
    """

    module: str
    app: str
    commands: tuple[str, ...]
    group: str = ""


def parts() -> list[CommandPart]:
    """Return the core's command parts, followed by the extensions' command parts."""
    own = [
        CommandPart(f"lab.cli.commands.{name}", name, commands, commands[0] if name in _GROUPS else "")
        for name, commands in PARTS.items()
    ]
    others = [CommandPart(f"{name}.commands", "app", each.commands, each.group) for name, each in extensions()]
    return own + [part for part in others if part.commands]


def examples() -> Mapping[str, tuple[str, ...]]:
    """Return example command lines for each command."""
    return {**EXAMPLES, **{name: typed for _, each in extensions() for name, typed in each.examples.items()}}


def assembled(first: str = "") -> typer.Typer:
    """Return the command line.

    If `first` is a command name, omit all other commands, because importing them takes time.
    """
    app = typer.Typer(
        name="lab",
        cls=HelpfulGroup,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_root)
    known, shown = parts(), examples()
    for part in [part for part in known if first in part.commands] or known:
        commands = getattr(import_module(part.module), part.app)
        for command in commands.registered_commands:
            command.cls = HelpfulCommand
            command.epilog = example(*shown[f"{part.group} {_name(command)}".strip()])
        app.add_typer(commands, name=part.group or None, cls=HelpfulGroup if part.group else None)
    return app


def _name(command: CommandInfo) -> str:
    return command.name or str(getattr(command.callback, "__name__", ""))


def _say_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # a fifth of all imports, needed only here

        typer.echo(f"replab {version('replab')}")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """A network lab whose results anyone can reproduce to the byte."""
