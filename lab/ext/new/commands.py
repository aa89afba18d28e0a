"""Define the command `lab new`."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.cli import output
from lab.cli.output import Json

app = typer.Typer()


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="ARTICLE/CLAIM", help="The name of the new claim or study.")],
    template: Annotated[
        str, typer.Option(help="The template: transfer, flows, program, queue or change.")
    ] = "transfer",
    study: Annotated[
        bool, typer.Option("--study", help="Create a study: figures with intervals, without a claim.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Create an experiment that runs as it is, with a topology and a test.

    Then edit the experiment to test your own claim, or to answer your own question.
    """
    from lab.ext.new import creating
    from lab.ext.new.templates import STUDY

    claim, files = creating.create(name, STUDY if study else template)
    what = "study" if study else "claim"
    said = "\n".join([*files, f"next: lab run {claim}, then write your own {what} into it"])
    output.answer({"claim": claim, "files": files}, lambda: said, as_json)
