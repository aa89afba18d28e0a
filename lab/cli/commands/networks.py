"""Define the commands that bring a topology up or draw it: `lab graph`, `lab shell`, `lab mn`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import KernelName, Programs, Seed
from lab.cli.output import Json

__all__ = ["networks"]

networks = typer.Typer()

TopologyName = Annotated[
    str,
    typer.Argument(metavar="TOPOLOGY", help="A name in topologies/, or a file.", autocompletion=completion.topologies),
]
SessionClock = Annotated[str, typer.Option("--clock", help="real, or virtual, which needs -c.")]


@networks.command()
def graph(
    topology: TopologyName,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the drawing to a file, too.", metavar="FILE.svg")
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw a topology in the terminal, and as SVG."""
    from lab.cli import drawing

    drawn = drawing.draw(topology, out)
    output.answer(drawn.plain(), drawn.render, as_json)


@networks.command()
def shell(
    topology: TopologyName,
    host: Annotated[
        str | None, typer.Argument(metavar="HOST", help="The host to be in; the first one unless named.")
    ] = None,
    command: Annotated[
        str | None, typer.Option("-c", help="Run this command instead of an interactive shell.", metavar="COMMAND")
    ] = None,
    kernel: KernelName = None,
    clock: SessionClock = "real",
    userland: Programs = "sealed",
    seed: Seed = 1,
) -> None:
    """Bring up a topology and open a shell in one of its hosts."""
    from lab.cli.interactive import hand_over

    raise typer.Exit(hand_over("shell", topology, host, command, kernel, clock, userland, seed))


@networks.command()
def mn(
    topology: TopologyName,
    command: Annotated[
        str | None,
        typer.Option(
            "-c", help="Run these commands of Mininet, one per line, instead of asking for them.", metavar="COMMAND"
        ),
    ] = None,
    kernel: KernelName = None,
    clock: SessionClock = "real",
    userland: Programs = "sealed",
    seed: Seed = 1,
) -> None:
    """Bring up a topology in Mininet, and open Mininet's command line."""
    from lab.cli.interactive import hand_over

    raise typer.Exit(hand_over("mininet", topology, None, command, kernel, clock, userland, seed))
