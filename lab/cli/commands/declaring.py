"""Define the commands about claims and topologies as files: `lab check`, `lab list`, `lab new`, `lab schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import output
from lab.cli.output import Json

__all__ = ["declaring"]

declaring = typer.Typer()


@declaring.command()
def check(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="A topology or an experiment.")] = None,
    as_json: Json = False,
) -> None:
    """Check topologies and experiments for mistakes.

    Without FILE, all of them are checked.
    """
    from lab.spec import find
    from lab.spec.errors import SpecError

    problems = find.check(files or ())
    if problems:
        raise SpecError(problems)
    if as_json:
        output.emit({"errors": []})
    else:
        output.say("no mistakes found")  # only a remark: the answer is what --json prints


@declaring.command("list")
def list_all(as_json: Json = False) -> None:
    """List articles, claims, topologies and kernels."""
    from lab.cli import listing

    plain = listing.everything()
    output.answer(plain, lambda: listing.render(plain), as_json)


@declaring.command()
def new(
    name: Annotated[str, typer.Argument(metavar="ARTICLE/CLAIM", help="Name of the new claim.")],
    template: Annotated[
        str, typer.Option(help="What it starts from: transfer, flows, program, queue or change.")
    ] = "transfer",
    as_json: Json = False,
) -> None:
    """Write an experiment that runs as it is, and its test.

    They are a start: write your own claim into them.
    """
    from lab.cli import new as scaffold

    claim, files = scaffold.create(name, template)
    said = "\n".join([*files, f"next: lab run {claim}, then write your own claim into it"])
    output.answer({"claim": claim, "files": files}, lambda: said, as_json)


@declaring.command()
def schema() -> None:
    """Print the JSON schema of topologies, for editors."""
    from lab.spec.schema import json_schema

    output.emit(json_schema())
