"""Define the commands for packetdrill: `lab packetdrill ...`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.app.options import SuiteOptions
from lab.cli import output, reports
from lab.cli.options import Reports, with_options
from lab.cli.output import Json

app = typer.Typer(help="Test the kernel's TCP with packetdrill scripts, in virtual time.", no_args_is_help=True)


@app.command("build")
def build_packetdrill(
    source: Annotated[
        Path | None,
        typer.Option(
            help="Build the source in this folder or tar file instead of the pinned commit.", metavar="DIR | TAR"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Build packetdrill with the locked compiler, or reuse it from the cache."""
    from lab.base.building import shown
    from lab.ext.suites.packetdrill import builder

    with shown() as progress:
        found = builder.build(source, progress)
    plain = {"id": found.id, "path": str(found.path), "source": found.source, "sha256": found.sha256}
    output.answer(plain, lambda: f"packetdrill {found.id}, of the source {found.source[:16]}", as_json)


@app.command("run")
@with_options(SuiteOptions)
def run_scripts(
    wanted: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCRIPT | DIR | NAME",
            help="Script files, script folders, or names of the kernel's scripts. Default: all the kernel's scripts.",
        ),
    ] = None,
    *,
    options: SuiteOptions,
    base: Annotated[
        str | None,
        typer.Option(help="Also run the scripts on this kernel, and show the differences.", metavar="KERNEL"),
    ] = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            help="Use this timing tolerance for every event, such as '1 us', instead of the script's own tolerance.",
            metavar="TIME",
        ),
    ] = None,
    report: Reports = None,
    as_json: Json = False,
) -> None:
    """Run packetdrill scripts, each in its own guest, and judge the results.

    A script whose record is already in the store does not run again.
    """
    from lab.ext.suites.packetdrill import display as showing
    from lab.ext.suites.packetdrill.api import packetdrill

    asked = reports.asked(report)
    found = packetdrill(*wanted or (), base=base, tolerance=tolerance, **options.given())
    output.answer(found.plain(), lambda: showing.render(found), as_json)
    raise typer.Exit(reports.exit_code(asked, found.cases, found.exit_code))
