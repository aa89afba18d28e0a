"""Define the commands about claims and topologies as files: `lab check`, `lab list`, `lab schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import completion, output
from lab.cli.output import Json

declaring = typer.Typer()


@declaring.command()
def check(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="A topology or an experiment.")] = None,
    as_json: Json = False,
) -> None:
    """Check topologies and experiments for mistakes.

    Default: all of them.
    """
    from lab.spec import find
    from lab.spec.errors import SpecError

    problems = find.check(files or ())
    if problems:
        raise SpecError(problems)
    if as_json:
        output.emit({"errors": []})
    else:
        output.say("no mistakes found")  # a remark on standard error, since the answer is empty


@declaring.command("list")
def list_all(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARTICLE | WORD",
            help="Only entries with these words in their name, text or claims.",
            autocompletion=completion.claims,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List articles, topologies and kernels; with a word, the claims that match it."""
    from lab.cli import listing

    plain = listing.matching(listing.everything(), words or ())
    output.answer(plain, lambda: listing.render(plain) if words else listing.overview(plain), as_json)


@declaring.command()
def schema() -> None:
    """Print the JSON schema of topologies, for editors."""
    from lab.spec.schema import json_schema

    output.emit(json_schema())
