"""Define the command `lab mininet`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lab.app.options import SuiteOptions
from lab.base.foreign import printable
from lab.cli import output
from lab.cli.options import with_options
from lab.cli.output import Json

app = typer.Typer()


@app.command("mininet", context_settings={"allow_interspersed_args": False})
@with_options(SuiteOptions, without=["jobs"])
def run_script(
    script: Annotated[Path, typer.Argument(help="A Mininet script in Python, or a shell script.", metavar="SCRIPT")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="The arguments of the script: everything after its name.", metavar="ARGUMENT"),
    ] = None,
    *,
    options: SuiteOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Copy the files that the script writes to this folder. Default: the script's name without its ending.",
            metavar="DIR",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--page",
            help="Also write an HTML page about the run: network, output, files and traffic.",
            metavar="FILE",
            dir_okay=False,
        ),
    ] = None,
    capture: Annotated[
        bool, typer.Option("--capture/--no-capture", help="Capture the packets of the script's hosts. Default: yes.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Run a Mininet script, unchanged, in virtual time, and keep a record.

    The same script, arguments and seed give the same bytes on every machine. The script runs as root of a guest, with
    Open vSwitch, and needs no root here. It sees the modules that it imports from its folder, and the files there that
    it names.
    """
    from lab.ext.mininet import api

    def heard(fresh: bytes) -> None:
        if not as_json:
            sys.stdout.write(printable(fresh.decode(errors="replace").replace("\r", "")))
            sys.stdout.flush()

    given = options.given(without=["jobs"])
    found = api.mininet(script, *arguments or (), out=out, heard=heard, capture=capture, page=page, **given)
    if as_json:
        output.emit(found.plain())
    else:
        output.say(found.sentence)
        if found.instead:
            output.say(found.instead)
    raise typer.Exit(found.exit_code)
