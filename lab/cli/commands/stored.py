"""Define the commands that read records: `lab report`, `show`, `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import STORE, Begun, Jobs, Results, Seconds, Trust
from lab.cli.output import Json
from lab.cli.taking import since

stored = typer.Typer()


@stored.command()
def report(
    articles: Annotated[
        list[str] | None,
        typer.Argument(metavar="ARTICLE", help="Default: the articles here, and others with records in the store."),
    ] = None,
    results: Results = STORE,
    out: Annotated[Path, typer.Option("-o", "--output", help="Folder for the pages.", metavar="DIR")] = Path("report"),
    check: Annotated[bool, typer.Option("--check", help="Check the pages and their links in Chromium, too.")] = False,
    axe: Annotated[
        Path | None,
        typer.Option(
            help="Check with axe-core's rules, too. FILE is its script, axe.min.js.", metavar="FILE", exists=True
        ),
    ] = None,
    begun: Begun = None,
    as_json: Json = False,
) -> None:
    """Render HTML pages from records.

    Each article has a notebook, or gets a default one. With --check the exit code is 1 if a link is dead, a picture has
    no alternative text, a page is wider than its screen (390 to 1920 pixels), or a phone shows text of less than 9
    pixels. With --axe it is also 1 if a page breaks a rule of axe-core, on a phone in light colours or on a laptop in
    dark ones.
    """
    from lab.app.extension import hook
    from lab.app.options import reading_from
    from lab.report import site

    pages = site.build(reading_from(results), out, output.say, articles or ())
    found = hook("pages", "--check")(out, output.say, axe) if check or axe else None
    plain = {"index": str(pages.index), "pages": [str(page) for page in pages.articles]}
    output.answer(plain | ({"check": found.plain()} if found else {}), lambda: str(pages.index), as_json)
    for problem in found.problems if found else ():
        output.say(problem)
    if begun:
        output.say(f"last page after {since(begun)}")
    raise typer.Exit(found.exit_code if found else 0)


@stored.command()
def show(
    claim: Annotated[
        str,
        typer.Argument(
            metavar="CLAIM | ARTICLE", help="The claim, or an article's claims.", autocompletion=completion.claims
        ),
    ],
    results: Results = STORE,
    capture: Annotated[bool, typer.Option("--capture", help="Open its packets in Wireshark, or in tshark.")] = False,
    arm: Annotated[
        str | None, typer.Option(help="Show only this arm. Default with --capture: the first arm with packets.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a claim's answer, figures, reason and a small plot, from the store's records."""
    from lab import app as api
    from lab.cli import showing

    if capture:
        raise typer.Exit(showing.packets(claim, arm, results))
    found = api.follow(claim, results=results).filter(arm=arm)
    output.answer(found.plain(), lambda: showing.render(found), as_json)


@stored.command()
def verify(
    results: Annotated[
        Path, typer.Argument(help="The store: the folder of records; or a bundle's file.", metavar="RESULTS | FILE")
    ] = STORE,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    sample: Annotated[str, typer.Option(help="Run a random sample of this size again.", metavar="PERCENT")] = "100%",
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Run recorded trials again on this machine, and show which bytes differ.

    A bundle's trials run on its own kernels and userland. Every record is hashed again in any case.
    """
    from lab import app as api
    from lab.cli import verifying

    found = api.verify(results, jobs, budget, verifying.part(sample), trust)
    output.answer(found.plain(), lambda: verifying.render(found), as_json)
    raise typer.Exit(found.exit_code)
