"""Put the commands together, in the order in which `lab --help` shows them."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.cli.commands.campaigns import campaigns
from lab.cli.commands.ci import ci
from lab.cli.commands.comparing import comparing
from lab.cli.commands.course import course
from lab.cli.commands.declaring import declaring
from lab.cli.commands.kernels import kernels
from lab.cli.commands.machine import machine
from lab.cli.commands.networks import networks
from lab.cli.commands.running import running
from lab.cli.commands.scripts import scripts
from lab.cli.commands.selftests import selftests
from lab.cli.commands.store import store
from lab.cli.commands.stored import stored
from lab.cli.commands.userlands import userlands

__all__ = ["app"]

app = typer.Typer(
    name="lab",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _say_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # a fifth of what a command line imports, for this alone

        typer.echo(f"replab {version('replab')}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version, and nothing else."),
    ] = False,
) -> None:
    """A network lab whose results anyone can reproduce to the byte."""


for commands in (machine, declaring, running, campaigns, stored, course, comparing, networks):
    app.add_typer(commands)
app.add_typer(kernels, name="kernel")
app.add_typer(store, name="store")
app.add_typer(userlands, name="userland")
app.add_typer(scripts, name="packetdrill")
app.add_typer(selftests, name="selftest")
app.add_typer(ci, name="ci")
