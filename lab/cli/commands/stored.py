"""Define the commands about records that are there: `lab report`, `lab verify`, `lab bundle`, `lab clean`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import output
from lab.cli.options import STORE, Begun, Claims, Jobs, Results, Seconds
from lab.cli.output import Json
from lab.cli.taking import since

__all__ = ["stored"]

stored = typer.Typer()


@stored.command()
def report(
    results: Results = STORE,
    out: Annotated[Path, typer.Option("-o", "--output", help="Folder for the pages.", metavar="DIR")] = Path("report"),
    begun: Begun = None,
    as_json: Json = False,
) -> None:
    """Render the notebooks to HTML pages.

    The pages show the records of earlier runs.
    """
    from lab.report import site

    pages = site.build(results, out, say=output.say)
    plain = {"index": str(pages.index), "pages": [str(page) for page in pages.articles]}
    output.answer(plain, lambda: str(pages.index), as_json)
    if begun:
        output.say(f"last page after {since(begun)}")


@stored.command()
def verify(
    results: Annotated[
        Path, typer.Argument(help="The store: the folder of records; or a bundle's file.", metavar="RESULTS | FILE")
    ] = STORE,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    sample: Annotated[
        str, typer.Option(help="The part of the trials, left to chance, that runs again.", metavar="PERCENT")
    ] = "100%",
    as_json: Json = False,
) -> None:
    """Run recorded trials again, here, and say which bytes differ.

    The trials of a bundle run on its own kernels and userland. Every record is hashed again in any case.
    """
    from lab import api
    from lab.cli import verifying

    found = api.verify(results, jobs, budget, verifying.part(sample))
    output.answer(found.plain(), lambda: verifying.render(found), as_json)
    raise typer.Exit(found.exit_code)


@stored.command()
def bundle(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write, as claims.tar.zst.")],
    claims: Claims = None,
    results: Results = STORE,
    report: Annotated[
        Path | None, typer.Option(help="The folder of pages; report/ unless given, if it is there.", metavar="DIR")
    ] = None,
    as_json: Json = False,
) -> None:
    """Put claims with their records, kernels and pages into one file that runs them again anywhere.

    `python3 OUT verify` does, with nothing installed.
    """
    from lab import api

    pages = report or (Path("report") if Path("report").is_dir() else None)
    made = api.bundle(out, *claims or (), results=results, report=pages)
    size = f"{out.stat().st_size / 1e6:.0f} MB"
    said = f"{out}: {len(made.claims)} claims, {made.records} records, {size}; `python3 {out} verify` runs them again"
    output.answer(made.plain(), lambda: said, as_json)


@stored.command()
def clean(results: Results = STORE) -> None:
    """Remove what crashed and failed runs left; keep all records."""
    from lab.runner import cleaning

    for removed in cleaning.clean(results):
        output.say(f"removed {removed}")
