"""Define the command `lab bisect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.app.options import SuiteOptions
from lab.cli import completion, output
from lab.cli.options import with_options
from lab.cli.output import Json

app = typer.Typer()


@app.command()
@with_options(SuiteOptions, without=["kernel"])
def bisect(
    claim: Annotated[
        str,
        typer.Argument(
            help="The claim whose result changed, or its file.",
            metavar="CLAIM | FILE.py",
            autocompletion=completion.claims,
        ),
    ],
    tree: Annotated[Path, typer.Option(help="A git checkout of the kernel's source.", metavar="DIR")],
    good: Annotated[str, typer.Option(help="A revision before the change.", metavar="REV")],
    bad: Annotated[str, typer.Option(help="A later revision, after the change.", metavar="REV")],
    *,
    options: SuiteOptions,
    as_json: Json = False,
) -> None:
    """Find the kernel commit that changed a claim's result."""
    from lab.ext.bisect import api, display

    given = options.given(without=["kernel"])
    found = api.bisect(claim, tree, good, bad, **given)
    output.answer(found.plain(), lambda: display.render(found), as_json)
    raise typer.Exit(found.exit_code)
