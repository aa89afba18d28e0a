"""Define the command for CI systems: `lab ci init`."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.cli import output
from lab.cli.output import Json

app = typer.Typer(help="Run the lab in a CI system.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Run the lab in a CI system."""


@app.command("init")
def init(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="The CI system: github or gitlab.")],
    lab: Annotated[
        str,
        typer.Option(
            help="The lab's repository: OWNER/NAME@REF for GitHub, or a URL for GitLab.", metavar="REPOSITORY"
        ),
    ],
    command: Annotated[str, typer.Option(help="The lab command that the CI system runs.")] = "run",
    as_json: Json = False,
) -> None:
    """Write a CI configuration file that runs the lab on every change."""
    from lab.ext.ci import writing

    file = writing.create(system, lab, command)
    output.answer({"file": file}, lambda: file, as_json)
