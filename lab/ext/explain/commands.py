"""Define the command `lab explain`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from lab.cli import output
from lab.cli.options import Results
from lab.cli.output import Json
from lab.errors import InputError

app = typer.Typer()


@app.command()
def explain(
    capture: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A capture: pcap or pcapng, also packed with gzip or Zstandard (.gz, .zst)."
        ),
    ],
    flow: Annotated[
        int | None,
        typer.Option(help="Explain only the connection with this number, stretch by stretch.", metavar="N", min=1),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Also write a page with the timelines to this file.", metavar="FILE.html"),
    ] = None,
    rebuild: Annotated[
        Path | None,
        typer.Option(
            help="Write a topology and experiments into DIR, so that `lab run DIR` runs the transfer of --flow again. "
            "Default: the connection with the most payload.",
            metavar="DIR",
        ),
    ] = None,
    gains: Annotated[
        Path | None,
        typer.Option(
            help="Also show what you gain if you undo each limit, from the records of `lab run DIR` in the store.",
            metavar="DIR",
        ),
    ] = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Show what limited each TCP transfer in a capture, and when.

    The limits are the application, Nagle's algorithm, the receive window, the send buffer, slow start, the congestion
    window, the bottleneck's rate and others. If a capture does not show the limit, the answer is "cannot tell".
    """
    from lab.ext.explain import api, display
    from lab.ext.explain.gains import check_capture, transfer_of

    if rebuild is not None:
        if page is not None or gains is not None:
            raise InputError("--rebuild writes only the files that `lab run` needs; use -o and --gains after that run")
        files = api.rebuild(capture, rebuild, flow=flow)
        said = "\n".join([*files, f"next: lab run {shlex.quote(str(rebuild))}"])
        output.answer({"files": files}, lambda: said, as_json)
        return
    worth = None if gains is None else api.gains(gains, results=results)
    if worth is not None:
        check_capture(worth, capture)
    found = api.explain(capture, flow=flow)
    if worth is not None:
        transfer_of(found, worth)
    if page is not None:
        from lab.ext.explain import page as pages

        pages.write(found, page, worth)
    output.answer(display.plain(found, worth), lambda: display.shown(found, flow is not None, worth), as_json)
    if page is not None:
        output.say(f"page: {page}")
