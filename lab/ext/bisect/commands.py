"""Define the command `lab bisect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import STORE, Jobs, Results, Seconds, Seed
from lab.cli.output import Json

app = typer.Typer()


@app.command()
def bisect(
    claim: Annotated[
        str,
        typer.Argument(
            help="The claim that changed, or its file.", metavar="CLAIM | FILE.py", autocompletion=completion.claims
        ),
    ],
    tree: Annotated[Path, typer.Option(help="The kernel's source tree, in git.", metavar="DIR")],
    good: Annotated[str, typer.Option(help="A revision from before the change.", metavar="REV")],
    bad: Annotated[str, typer.Option(help="A later revision, from after the change.", metavar="REV")],
    seed: Seed = 1,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Find the commit in a kernel's git tree that changed a claim."""
    from lab.ext.bisect import api, display

    found = api.bisect(claim, tree, good, bad, seed=seed, jobs=jobs, budget=budget, results=results)
    output.answer(found.plain(), lambda: display.render(found), as_json)
    raise typer.Exit(found.exit_code)
