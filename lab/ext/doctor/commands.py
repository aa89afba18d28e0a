"""Define the command that checks this machine: `lab doctor`."""

from __future__ import annotations

import typer

from lab.cli import output
from lab.cli.options import Results
from lab.cli.output import Json

app = typer.Typer()


@app.command()
def doctor(results: Results = None, as_json: Json = False) -> None:
    """Check what works on this machine, and show how to fix the rest."""
    from dataclasses import asdict

    from lab.app.options import writing_to
    from lab.ext.doctor import checks

    found = checks.report(writing_to(results))
    output.answer({"checks": [asdict(check) for check in found]}, lambda: checks.render(found), as_json)
    if any(check.ok is False for check in found):
        raise typer.Exit(3)
