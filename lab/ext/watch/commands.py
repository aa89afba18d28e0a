"""Define the command `lab watch`, for one trial."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import KernelName, Results, Seed
from lab.cli.output import Json

if TYPE_CHECKING:
    from lab.ext.watch.watching import Glimpse

app = typer.Typer()


@app.command()
def watch(
    claim: Annotated[
        str, typer.Argument(metavar="CLAIM", help="The claim to watch.", autocompletion=completion.claims)
    ],
    arm: Annotated[str | None, typer.Option(help="Run the first trial of this arm. Default: the first arm.")] = None,
    kernel: KernelName = None,
    seed: Seed = 1,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Run one trial, and show its window, queue and goodput while it runs.

    `lab run` gives the same record. If the store already has the record, the command keeps it, and compares both
    records byte by byte. The window is cwnd if the trial samples tcp_info; otherwise, it is the number of bytes in
    flight. The queue is the round-trip time minus the shortest round-trip time.
    """
    from lab.ext.watch import api, display

    glimpses: list[Glimpse] = []
    with display.shown() as screen:

        def seen(glimpse: Glimpse) -> None:
            glimpses.append(glimpse)
            screen.show(glimpse)

        found = api.watch(claim, seen, arm=arm, kernel=kernel, seed=seed, results=results)
    for reason in found.refused:
        output.say(reason)
    plain = {**found.plain(), "glimpses": [asdict(each) for each in glimpses]}
    said = "in the store now" if found.is_new else "the store has other bytes" if found.refused else "as in the store"
    output.answer(plain, lambda: f"{claim}, arm {found.arm}, trial {found.trial[:12]}: {said}", as_json)
    raise typer.Exit(int(bool(found.refused)))
