"""Define the commands about records that are there: `lab report`, `show`, `verify`, `bundle`, `clean`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import STORE, Begun, Claims, Jobs, Results, Seconds
from lab.cli.output import Json
from lab.cli.taking import since

__all__ = ["stored"]

stored = typer.Typer()


@stored.command()
def report(
    results: Results = STORE,
    out: Annotated[Path, typer.Option("-o", "--output", help="Folder for the pages.", metavar="DIR")] = Path("report"),
    check: Annotated[
        bool, typer.Option("--check", help="Look at the pages in Chromium, too, and at all their links.")
    ] = False,
    axe: Annotated[
        Path | None,
        typer.Option(help="Check by axe-core's rules, too: its script, axe.min.js.", metavar="FILE", exists=True),
    ] = None,
    begun: Begun = None,
    as_json: Json = False,
) -> None:
    """Render the notebooks to HTML pages.

    The pages show the records of earlier runs. With --check the exit code is 1 when a link is dead, a picture has no
    words, a page is wider than its screen (390 to 1920 pixels), or a phone shows text of less than 9 pixels; with --axe
    also when a page breaks a rule of axe-core, on a phone in light colours or on a laptop in dark ones.
    """
    from lab.report import site
    from lab.usecases.inspection import Inspection, inspect

    pages = site.build(results, out, say=output.say)
    found = inspect(out, output.say, axe) if check or axe else Inspection(0, ())
    plain = {"index": str(pages.index), "pages": [str(page) for page in pages.articles]}
    output.answer(plain | ({"check": found.plain()} if check or axe else {}), lambda: str(pages.index), as_json)
    for problem in found.problems:
        output.say(problem)
    if begun:
        output.say(f"last page after {since(begun)}")
    raise typer.Exit(found.exit_code)


@stored.command()
def show(
    claim: Annotated[
        str, typer.Argument(metavar="CLAIM | ARTICLE", help="What to show.", autocompletion=completion.claims)
    ],
    results: Results = STORE,
    capture: Annotated[bool, typer.Option("--capture", help="Open its packets in Wireshark, or in tshark.")] = False,
    arm: Annotated[
        str | None, typer.Option(help="The arm whose packets are shown; the first one unless named.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what became of a claim: answer, figures, reason and a small plot, from the records that are there."""
    from lab import api
    from lab.cli import showing

    if capture:
        raise typer.Exit(showing.packets(claim, arm, results))
    found = api.follow(claim, results=results)
    output.answer(found.plain(), lambda: showing.render(found), as_json)


@stored.command()
def export(
    claim: Annotated[
        str, typer.Argument(metavar="CLAIM", help="Whose packets to write.", autocompletion=completion.claims)
    ],
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write: .parquet, or .arrow (Feather).")],
    results: Results = STORE,
    arm: Annotated[
        str | None, typer.Option(help="The arm whose packets are written; the first one unless named.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the packets of a capture as a table, for polars, pandas and other tools.

    It has a row for each packet, and takes the same memory however many there are.
    """
    from lab import api
    from lab.metric import table

    written = table.write(api.capture(claim, arm, results), out)
    output.answer({"file": str(out), "packets": written}, lambda: f"{out}: {written:,} packets", as_json)


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
