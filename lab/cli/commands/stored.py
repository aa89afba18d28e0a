"""Define the command that renders records: `lab report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import output
from lab.cli.options import Begun, Results
from lab.cli.output import Json
from lab.cli.taking import since

stored = typer.Typer()


@stored.command()
def report(
    articles: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CLAIM",
            help="An article, a claim, an experiment FILE.py or a pack. Default: the project's articles, and others "
            "with records in the store.",
        ),
    ] = None,
    results: Results = None,
    out: Annotated[Path, typer.Option("-o", "--output", help="Write the pages to this folder.", metavar="DIR")] = Path(
        "report"
    ),
    check: Annotated[bool, typer.Option("--check", help="Also check the pages and their links in Chromium.")] = False,
    axe: Annotated[
        Path | None,
        typer.Option(
            help="Also check the pages with axe-core. FILE is its script, axe.min.js.", metavar="FILE", exists=True
        ),
    ] = None,
    begun: Begun = None,
    as_json: Json = False,
) -> None:
    """Render HTML pages from records.

    Each page shows an article; a claim or a file stands for its article. An article without a notebook gets a default
    notebook. Without a CLAIM, the report also has a page for each Mininet script with a record. With --check, the exit
    code is 1 if a link is dead, an image has no alternative text, a page is wider than the screen (390 to 1920 pixels),
    or a phone shows text smaller than 9 pixels. With --axe, the exit code is also 1 if a page violates an axe-core
    rule. The lab checks pages as a phone in light mode and a laptop in dark mode show them.
    """
    from lab.app import stored as records
    from lab.app.extension import hook, hooks
    from lab.app.options import reading_from
    from lab.report import site

    further = () if articles else hooks("report")
    pages = site.build(reading_from(results), out, output.say, *records.pages(articles or ()), further)
    found = hook("pages", "--check")(out, output.say, axe) if check or axe else None
    plain = {"index": str(pages.index), "pages": [str(page) for page in pages.articles]}
    output.answer(plain | ({"check": found.plain()} if found else {}), lambda: str(pages.index), as_json)
    for problem in found.problems if found else ():
        output.say(problem)
    if begun:
        output.say(f"last page after {since(begun)}")
    raise typer.Exit(found.exit_code if found else 0)
