"""Define the command `lab explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import output
from lab.cli.output import Json

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
    as_json: Json = False,
) -> None:
    """Show what limited each TCP transfer in a capture, and when.

    The limits are the application, Nagle's algorithm, the receive window, the send buffer, slow start, the congestion
    window, the bottleneck's rate and others. If a capture does not show the limit, the answer is "cannot tell".
    """
    from lab.ext.explain import api, display

    found = api.explain(capture, flow=flow)
    if page is not None:
        from lab.ext.explain import page as pages

        pages.write(found, page)
    output.answer(display.plain(found), lambda: display.shown(found, flow is not None), as_json)
    if page is not None:
        output.say(f"page: {page}")
