"""Define the commands for claim files and topology files: `lab check`, `lab list`, `lab schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from lab.cli import completion, output
from lab.cli.output import Json
from lab.errors import InputError
from lab.spec.errors import SpecError

declaring = typer.Typer()


@declaring.command()
def check(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="Topology files or experiment files.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check topologies and experiments for mistakes.

    Default: all topologies and experiments of the project.
    """
    from lab.spec import find

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
            help="List only entries that contain these words in their name, text or claims.",
            autocompletion=completion.claims,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List articles, topologies and kernels, or the claims that match a word.

    If a file has a mistake, the list still shows the others. The message follows the list, and the exit code is 2.
    """
    from lab.cli import listing

    whole, problems = listing.everything()
    try:
        plain = listing.matching(whole, words or ())
    except InputError:
        for problem in problems if not as_json else ():
            output.say(f"lab: {problem}")
        raise
    output.answer_beside(plain, lambda: listing.render(plain) if words else listing.overview(plain), problems, as_json)


@declaring.command()
def schema(
    what: Annotated[
        Literal["topology", "run"],
        typer.Argument(metavar="topology | run", help="topology: topology files. run: the options of a run."),
    ] = "topology",
) -> None:
    """Print the JSON schema of topology files (for editors) or of a run's options (for programs)."""
    from lab.app import options
    from lab.spec.schema import json_schema

    output.emit(json_schema() if what == "topology" else options.json_schema(options.RunOptions))
