"""Define the command for the course: `lab grade`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.base.writing import write
from lab.cli import output
from lab.cli.options import Results
from lab.cli.output import Json

app = typer.Typer()


@app.command()
def grade(
    submissions: Annotated[
        list[Path],
        typer.Argument(metavar="SUBMISSION...", help="Notebooks, or folders that each hold one student's notebooks."),
    ],
    results: Results = None,
    junit: Annotated[Path | None, typer.Option(help="Also write JUnit XML to this file.", metavar="FILE")] = None,
    table: Annotated[
        Path | None, typer.Option("--csv", help="Also write a row for each step to this file.", metavar="FILE")
    ] = None,
    as_json: Json = False,
) -> None:
    """Grade the exercises that students handed in, step by step.

    Each step is right, wrong, empty or broken. The command reads the answers from the cell outputs of the notebooks,
    and never executes submitted code. The exit code is 1 if an answer is not right, and 2 if a notebook cannot be read.
    """
    from lab.ext.course import api, display

    found = api.grade(*submissions, results=results)
    if junit:
        write(found.junit(), junit)
    if table:
        write(found.csv(), table)
    output.answer(found.plain(), lambda: display.render(found), as_json)
    raise typer.Exit(found.exit_code)
