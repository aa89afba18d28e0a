"""Define the command `lab cost`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.app.options import SuiteOptions
from lab.cli import completion, output
from lab.cli.options import with_options
from lab.cli.output import Json
from lab.ext.cost.api import INTEREST

app = typer.Typer()


@app.command()
@with_options(SuiteOptions, without=["kernel"])
def cost(
    claims: Annotated[
        list[str],
        typer.Argument(
            metavar="CLAIM | ARTICLE | FILE.py",
            help="Claims, articles or experiment files.",
            autocompletion=completion.claims,
        ),
    ],
    *,
    kernels: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            help="One or more kernels from `lab kernel fetch`, or images. Default: the newest.",
            metavar="KERNEL[,KERNEL...]",
        ),
    ] = None,
    seeds: Annotated[
        str, typer.Option(help="3: three seeds, starting at --seed. 1-5: seeds 1 to 5.", metavar="N | FIRST-LAST")
    ] = "3",
    repeat: Annotated[
        int, typer.Option(help="Run each trial N times. All repeats must be equal.", metavar="N", min=1)
    ] = 1,
    function: Annotated[
        str | None, typer.Option(help="Compare the instructions of this function per call.", metavar="NAME")
    ] = None,
    interest: Annotated[
        float, typer.Option(help="The smallest relative change that matters, in percent.", metavar="PERCENT", min=0)
    ] = 100 * INTEREST,
    page: Annotated[
        Path | None, typer.Option("-o", "--output", help="Also write a page to this file.", metavar="FILE.html")
    ] = None,
    options: SuiteOptions,
    as_json: Json = False,
) -> None:
    """Count the instructions that kernels need for claims, by function.

    Trials run under QEMU, which counts each instruction, so a figure does not depend on the machine. With several
    kernels, the exit code is 1 if the cost on one of them differs from the cost on the first with each seed, and 2 if
    a kernel has no cost.
    """
    from lab.ext.cost import api, display
    from lab.ext.cost import page as pages
    from lab.report.page import require_place

    if page is not None:
        require_place(page)
    given = options.given(without=["kernel"])
    names = [None] if kernels is None else [name.strip() for name in kernels.split(",")]
    found = api.cost(names, *claims, seeds=seeds, repeat=repeat, function=function, interest=interest / 100, **given)
    output.answer(found.plain(), lambda: display.shown(found), as_json)
    if page is not None:
        pages.write(found, page)
        output.say(f"page: {page}")
    raise typer.Exit(found.exit_code)
