"""Define the commands that draw a topology or bring it up: `lab graph`, `lab shell`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import output
from lab.cli.options import KernelName, Seed, TopologyName
from lab.cli.output import Json

app = typer.Typer()

_SessionClock = Annotated[str, typer.Option("--clock", help="The clock: real, or virtual (only with -c).")]
_SessionPrograms = Annotated[
    str,
    typer.Option(
        "--userland",
        help="The programs in the guest: sealed (locked), programs (also curl, nginx and others) or host (those of "
        "this machine).",
    ),
]
_Shown = Annotated[
    Path | None,
    typer.Option("--with", help="Make this folder available in the guest, read-only, as /tmp/NAME.", metavar="FOLDER"),
]
_SessionSeconds = Annotated[
    float,
    typer.Option("--budget", help="With -c: stop the command after this much wall-clock time.", metavar="SECONDS"),
]


@app.command()
def graph(
    topology: TopologyName,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", help="Also write the drawing to this file.", metavar="FILE.svg")
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw a topology in the terminal, or as SVG."""
    from lab.ext.hands_on import drawing

    drawn = drawing.draw(topology, out)
    output.answer(drawn.plain(), drawn.render, as_json)


@app.command()
def shell(
    topology: TopologyName,
    host: Annotated[
        str | None, typer.Argument(metavar="HOST", help="The host that runs the shell. Default: the first host.")
    ] = None,
    command: Annotated[
        str | None, typer.Option("-c", help="Run this command instead of an interactive shell.", metavar="COMMAND")
    ] = None,
    kernel: KernelName = None,
    clock: _SessionClock = "real",
    userland: _SessionPrograms = "sealed",
    seed: Seed = 1,
    shown: _Shown = None,
    budget: _SessionSeconds = 900.0,
) -> None:
    """Bring up a topology, and open a shell on one of its hosts."""
    from lab.ext.hands_on.interactive import hand_over

    raise typer.Exit(hand_over("shell", topology, host, command, kernel, clock, userland, seed, shown, budget))
