"""Define the command `lab new`."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.cli import output
from lab.cli.output import Json

app = typer.Typer()


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="ARTICLE/CLAIM", help="The name of the new claim.")],
    template: Annotated[
        str, typer.Option(help="The template: transfer, flows, program, queue or change.")
    ] = "transfer",
    as_json: Json = False,
) -> None:
    """Create an experiment that runs as it is, with a topology and a test.

    Then edit the experiment to test your own claim.
    """
    from lab.ext.new import creating

    claim, files = creating.create(name, template)
    said = "\n".join([*files, f"next: lab run {claim}, then write your own claim into it"])
    output.answer({"claim": claim, "files": files}, lambda: said, as_json)
