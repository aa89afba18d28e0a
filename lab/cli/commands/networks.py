"""Define the commands that bring a topology up or draw it: `lab graph`, `lab shell`, `lab mn`, `lab mixed`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import KernelName, Programs, Seconds, Seed
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


@networks.command("mixed")
def mixed_kernels(
    topology: TopologyName,
    commands: Annotated[
        list[str] | None, typer.Option("--run", help="Run this on a host. Repeatable.", metavar="'HOST: COMMAND'")
    ] = None,
    kernels: Annotated[
        list[str] | None,
        typer.Option("--kernel", help="Give a host a kernel of its own. Repeatable.", metavar="HOST=KERNEL"),
    ] = None,
    out: Annotated[
        Path, typer.Option("-o", "--output", help="Leave outputs and captures in this folder.", metavar="DIR")
    ] = Path("mixed"),
    lasts: Annotated[
        str, typer.Option("--for", help="End what still runs after so long, from the first command on.", metavar="TIME")
    ] = "30 s",
    build: Annotated[bool, typer.Option("--build", help="Build kernels that are missing.")] = False,
    userland: Programs = "sealed",
    seed: Seed = 1,
    budget: Seconds = 900.0,
    as_json: Json = False,
) -> None:
    """Run commands on a topology whose hosts have different kernels, in virtual time."""
    from lab.building import shown
    from lab.cli import mixed as showing
    from lab.kernel import Budget
    from lab.usecases import mixed

    with shown() as progress:
        found = mixed.run(
            topology,
            commands or (),
            kernels or (),
            out,
            lasts=lasts,
            seed=seed,
            userland=userland,
            budget=Budget(wall=budget),
            build=build,
            progress=progress,
        )
    output.answer(found.plain(), lambda: showing.render(found), as_json)
    raise typer.Exit(found.exit_code)
