"""Define the command `lab cc`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.app.options import SuiteOptions
from lab.cli import output
from lab.cli.options import Trust, with_options
from lab.cli.output import Json

app = typer.Typer()


@app.command()
@with_options(SuiteOptions)
def cc(
    control: Annotated[
        str,
        typer.Argument(
            metavar="NAME | FILE.c", help="A congestion control that the kernel has, or a C file to build into it."
        ),
    ],
    *,
    tree: Annotated[
        Path | None, typer.Option(help="Judge it on the kernel of this source tree.", metavar="DIR")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run only the 20 quick cases, with one seed each.")] = False,
    case: Annotated[
        str | None, typer.Option(help="Run only these cases, such as shallow-buffer.", metavar="NAME[,NAME...]")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="Also run it beside each of these rivals at one bottleneck.", metavar="NAME[,NAME...]"),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Also write the card as a page to this file.", metavar="FILE.html"),
    ] = None,
    options: SuiteOptions,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Judge a congestion control with the questions of RFC 9743, in virtual time.

    Each case is a study of the pack congestion-judge. Its figure earns 0 to 100 points, on a scale that the pack
    declares. A C file replaces the kernel's file of the same name, or adds a congestion control. Without --quick,
    all cases run with three seeds, and some also on changed paths. A trial whose record is already in the store does
    not run again.
    """
    from lab.ext.cc import api, display
    from lab.ext.cc import page as pages
    from lab.report.page import require_place

    if page is not None:
        require_place(page)
    found = api.cc(control, tree=tree, quick=quick, case=case, against=against, trust=trust, **options.given())
    output.answer(found.plain(), lambda: display.shown(found), as_json)
    if page is not None:
        pages.write(found, page)
        output.say(f"page: {page}")
