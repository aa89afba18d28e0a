"""Define the command `lab show`."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import Results
from lab.cli.output import Json
from lab.spec.errors import SpecError

app = typer.Typer()


@app.command()
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

    To show a single trial, give the first digits of its address. To show a run of `lab mininet`, `lab packetdrill` or
    `lab selftest`, give its name.
    """
    from lab.app import recorded, stored
    from lab.ext.show import display

    runs = stored.runs(claim, results)
    if runs and not capture:
        from lab.ext.show import recorded as shown

        plain = [recorded.plain(run) for run in runs]
        output.answer({"trials": plain}, lambda: shown.render(plain), as_json)
        return
    if capture:
        raise typer.Exit(display.packets(claim, arm, results))
    readable, problems = stored.follow_readable(claim, results=results)
    if problems and not readable:
        raise SpecError(problems)
    found = readable.filter(arm=arm)
    output.answer_beside(found.plain(), lambda: display.render(found), problems, as_json)
