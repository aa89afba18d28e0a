"""Define the command `lab atlas`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.app.options import SuiteOptions
from lab.cli import completion, output
from lab.cli.options import Claims, with_options
from lab.cli.output import Json
from lab.errors import InputError

app = typer.Typer()


@app.command("atlas")
@with_options(SuiteOptions, without=["kernel"])
def make_atlas(
    folder: Annotated[Path, typer.Argument(help="The folder for the pages.", metavar="DIR")],
    claims: Claims = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="The kernels to compare, oldest first. Default: the newest built kernel of each series.",
            metavar="KERNEL,KERNEL...",
            autocompletion=completion.kernels,
        ),
    ] = None,
    script: Annotated[
        list[str] | None,
        typer.Option(
            help="A script, named as for `lab packetdrill run`. Repeatable. Default: all scripts of the newest kernel.",
            metavar="SCRIPT | DIR | NAME",
        ),
    ] = None,
    no_scripts: Annotated[bool, typer.Option("--no-scripts", help="Run no packetdrill scripts.")] = False,
    tree: Annotated[
        Path | None,
        typer.Option(help="A kernel git tree, used to look up subjects and authors of known commits.", metavar="DIR"),
    ] = None,
    *,
    options: SuiteOptions,
    stored: Annotated[
        bool, typer.Option("--stored", help="Use only records that are in the store, and run nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write pages that show what changed in TCP from one kernel to the next."""
    from lab.cli import kernels
    from lab.ext.atlas import api, display

    if script and no_scripts:
        raise InputError("--script and --no-scripts contradict each other; give one of them")
    given = options.given(without=["kernel"])
    found = api.atlas(
        folder,
        *claims or (),
        kernels=kernels.named(kernel),
        scripts=None if no_scripts else script or ("*",),
        tree=tree,
        stored=stored,
        **given,
    )
    output.answer({**found.plain(), "page": str(folder / "index.html")}, lambda: display.render(found, folder), as_json)
