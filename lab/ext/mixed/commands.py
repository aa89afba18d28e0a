"""Define the command `lab mixed`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import output
from lab.cli.options import Seconds, Seed, TopologyName, UserlandName
from lab.cli.output import Json

app = typer.Typer()


@app.command("mixed")
def mixed_kernels(
    topology: TopologyName,
    commands: Annotated[
        list[str] | None, typer.Option("--run", help="Run a command on a host. Repeatable.", metavar="'HOST: COMMAND'")
    ] = None,
    kernels: Annotated[
        list[str] | None,
        typer.Option("--kernel", help="Boot a host with this kernel. Repeatable.", metavar="HOST=KERNEL"),
    ] = None,
    out: Annotated[
        Path, typer.Option("-o", "--output", help="Write outputs and captures into this folder.", metavar="DIR")
    ] = Path("mixed"),
    lasts: Annotated[
        str,
        typer.Option("--for", help="Stop all commands this long after the first command starts.", metavar="TIME"),
    ] = "30 s",
    build: Annotated[bool, typer.Option("--build", help="Build missing kernels.")] = False,
    userland: UserlandName = "sealed",
    seed: Seed = 1,
    budget: Seconds = 900.0,
    as_json: Json = False,
) -> None:
    """Run commands on a topology whose hosts have different kernels, in virtual time."""
    from lab.base.building import shown
    from lab.ext.mixed import display, mixed
    from lab.machine.kernel import Budget

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
    output.answer(found.plain(), lambda: display.render(found), as_json)
    raise typer.Exit(found.exit_code)
