"""Define the command `lab import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import output
from lab.cli.output import Json
from lab.errors import InputError

app = typer.Typer()


@app.command("import")
def import_files(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="A containerlab file, a Mininet script, or a script of ip and tc commands, and scripts that change "
            "it; or one or two traces, forward and back.",
            metavar="FILE",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the topology to this file. Default: print it.", metavar="FILE.yaml"),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 2 if anything was left out.")] = False,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", help="Set a variable of a shell script; 1 is its first argument.", metavar="NAME=VALUE"),
    ] = None,
    topo: Annotated[
        str, typer.Option(help="Use this Topo from a Mininet file, as `mn --topo` does.", metavar="NAME[,ARGUMENT...]")
    ] = "",
    time_unit: Annotated[str, typer.Option(help="The unit of a trace's times: s, ms or us.", metavar="UNIT")] = "s",
    rate_unit: Annotated[
        str,
        typer.Option(help="The unit of a trace's rates: Mbit/s, kbit/s, bit/s, MB/s, kB/s or B/s.", metavar="UNIT"),
    ] = "Mbit/s",
    as_json: Json = False,
) -> None:
    """Write a topology from other tools' files.

    The command never runs a shell script. On standard error, it lists everything that a topology cannot express,
    with its line and the closest alternative.
    """
    from lab.ext.importing import api

    variables = {}
    for each in given or ():
        name, separator, value = each.partition("=")
        if not separator or not name:
            raise InputError(f"--set {each} has no name and value; write it as NAME=VALUE")
        variables[name] = value
    found = api.import_topology(
        *files, out=out, variables=variables, topo=topo, time_unit=time_unit, rate_unit=rate_unit
    )
    if as_json:
        output.emit(found.plain())
    elif out is None:
        output.answer(None, lambda: found.text.rstrip("\n"), as_json=False)
    for problem in found.untaken:
        output.say(str(problem))
    summary = f"left out: {len(found.untaken)}" if found.untaken else "nothing was left out"
    output.say(f"{out or 'topology'}: {found.sentence}; {summary}")
    if strict and found.untaken:
        raise typer.Exit(2)
