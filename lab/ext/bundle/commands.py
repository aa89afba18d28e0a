"""Define the command `lab bundle`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import output
from lab.cli.options import Claims, Results
from lab.cli.output import Json

app = typer.Typer()


@app.command()
def bundle(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write, such as claims.tar.zst.")],
    claims: Claims = None,
    results: Results = None,
    report: Annotated[
        Path | None,
        typer.Option(help="The folder that holds the pages. Default: report/, if it exists.", metavar="DIR"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Pack claims with their records, kernels and pages into one file that can rerun them on any machine.

    `python3 OUT verify` reruns the claims, and needs no installation.
    """
    from lab.ext.bundle import api
    from lab.report.wording import plural

    pages = report or (Path("report") if Path("report").is_dir() else None)
    made = api.bundle(out, *claims or (), results=results, report=pages)
    size = f"{out.stat().st_size / 1e6:.0f} MB"
    claims_held = [plural(len(made.claims), "claim")] if made.claims else []
    holds = ", ".join([*claims_held, plural(made.records, "record"), size])
    said = f"{out}: {holds}; `python3 {out} verify` runs them again"
    output.answer(made.plain(), lambda: said, as_json)
