"""Define the command `lab verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import Jobs, Seconds, Trust
from lab.cli.output import Json

app = typer.Typer()


@app.command()
def verify(
    results: Annotated[
        Path | None,
        typer.Argument(
            help="The store (the record folder), or a bundle file. Default: results/ in the project.",
            metavar="RESULTS | FILE",
        ),
    ] = None,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    only: Annotated[
        str | None,
        typer.Option(
            help="Rerun only this claim, article, run or trial (name or address).",
            metavar="NAME",
            autocompletion=completion.claims,
        ),
    ] = None,
    sample: Annotated[str, typer.Option(help="Rerun only a random sample of this size.", metavar="PERCENT")] = "100%",
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Rerun recorded trials on this machine, and show which bytes differ.

    Trials from a bundle run on the bundle's own kernels and userland. The command rehashes every record, regardless of
    the sample.
    """
    from lab.ext.verify import api, display

    found = api.verify(results, jobs, budget, display.part(sample), trust, only)
    output.answer(found.plain(), lambda: display.render(found), as_json)
    raise typer.Exit(found.exit_code)
