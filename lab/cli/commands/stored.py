"""Define the commands that read records: `lab report`, `show`, `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import Begun, Jobs, Results, Seconds, Trust
from lab.cli.output import Json
from lab.cli.taking import since
from lab.spec.errors import SpecError

stored = typer.Typer()


@stored.command()
def report(
    articles: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARTICLE", help="Default: the project's articles, and others with records in the store."
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

    Without an ARTICLE, the report also has a page for each Mininet script with a record. An article without a notebook
    gets a default notebook. With --check, the exit code is 1 if a link is dead, an image has no alternative text, a
    page is wider than the screen (390 to 1920 pixels), or a phone shows text smaller than 9 pixels. With --axe, the
    exit code is also 1 if a page violates an axe-core rule, on a phone in light mode or on a laptop in dark mode.
    """
    from lab.app.extension import hook, hooks
    from lab.app.options import reading_from
    from lab.report import site

    further = () if articles else hooks("report")
    pages = site.build(reading_from(results), out, output.say, articles or (), further)
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
            metavar="CLAIM | ARTICLE | TRIAL",
            help="The claim to show, an article, the address of a trial, or a run such as mininet/NAME.",
            autocompletion=completion.claims,
        ),
    ],
    results: Results = None,
    capture: Annotated[
        bool, typer.Option("--capture", help="Open the captured packets in Wireshark or tshark.")
    ] = False,
    arm: Annotated[
        str | None, typer.Option(help="Show only this arm. Default with --capture: the first arm with a capture.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a claim's answer, figures, reason and a small plot, from the records in the store.

    The command also shows a single trial, by the first digits of its address, and the runs of `lab mininet`, `lab
    packetdrill` and `lab selftest`, by name.
    """
    from lab.app import recorded, stored
    from lab.cli import showing

    runs = stored.runs(claim, results)
    if runs and not capture:
        from lab.cli import recorded as shown

        plain = [recorded.plain(run) for run in runs]
        output.answer({"trials": plain}, lambda: shown.render(plain), as_json)
        return
    if capture:
        raise typer.Exit(showing.packets(claim, arm, results))
    readable, problems = stored.follow_readable(claim, results=results)
    if problems and not readable:
        raise SpecError(problems)
    found = readable.filter(arm=arm)
    output.answer_beside(found.plain(), lambda: showing.render(found), problems, as_json)


@stored.command()
def verify(
    results: Annotated[
        Path | None,
        typer.Argument(
            help="The store (the record folder), or a bundle file. Default: results/ in the project.",
            metavar="RESULTS | FILE",
        ),
    ] = None,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    only: Annotated[
        str | None,
        typer.Option(
            help="Rerun only the trials of this claim, article or run, or the trial with this address.",
            metavar="NAME",
            autocompletion=completion.claims,
        ),
    ] = None,
    sample: Annotated[str, typer.Option(help="Rerun only a random sample of this size.", metavar="PERCENT")] = "100%",
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Rerun recorded trials on this machine, and show which bytes differ.

    Trials from a bundle run on the bundle's own kernels and userland. The command rehashes every record, regardless of
    the sample.
    """
    from lab import app as api
    from lab.cli import verifying

    found = api.verify(results, jobs, budget, verifying.part(sample), trust, only)
    output.answer(found.plain(), lambda: verifying.render(found), as_json)
    raise typer.Exit(found.exit_code)
