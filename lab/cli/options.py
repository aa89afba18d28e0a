"""Define the arguments and options that several modules' commands take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lab.app.options import USUAL
from lab.cli import completion

STORE = USUAL
Results = Annotated[Path, typer.Option("--results", help="The store: the folder of records.", metavar="DIR")]
Claims = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CLAIM | ARTICLE | FILE.py | PACK",
        help="Claims, articles, files, packs or packs' folders. Default: all claims of the project.",
        autocompletion=completion.claims,
    ),
]
TopologyName = Annotated[
    str,
    typer.Argument(metavar="TOPOLOGY", help="A name in topologies/, or a file.", autocompletion=completion.topologies),
]
On = Annotated[
    str,
    typer.Option(
        "--on",
        help="The kernel under test: uml (built here), host (the running one), vm (a distribution's, under QEMU), "
        "or auto (one that works here).",
    ),
]
UserlandName = Annotated[
    str,
    typer.Option(
        "--userland",
        help="The programs that guests run: sealed (locked, the same everywhere) or host (this machine's).",
    ),
]
Seed = Annotated[int, typer.Option(help="The seed of everything random.", min=0, metavar="N")]
KernelName = Annotated[
    str | None,
    typer.Option(
        "--kernel", help="A kernel's name, version or id. Default: the newest.", autocompletion=completion.kernels
    ),
]
KernelNames = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        help="A kernel's name, version or id. Default: the newest. Several, such as 6.1,7.2: a verdict on each.",
        metavar="KERNEL[,KERNEL...]",
        autocompletion=completion.kernels,
    ),
]
ClockName = Annotated[str | None, typer.Option("--clock", help="virtual or real. Default: the kernel's usual clock.")]
FabricName = Annotated[
    str, typer.Option("--fabric", help="What builds the network: netlink (the lab's own code) or mininet.")
]
Repeat = Annotated[
    int,
    typer.Option(
        "--repeat", help="Run each trial N times. In virtual time all repeats give the same bytes.", min=1, metavar="N"
    ),
]
Begun = Annotated[
    float | None,
    typer.Option(help="Print the time since then, in seconds since 1970.", metavar="SECONDS", hidden=True),
]
SeedNumbers = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        help="Run with several seeds and show which verdicts depend on them: 10 (ten seeds, from --seed on), or 1-5.",
        metavar="N | FIRST-LAST",
    ),
]
Reports = Annotated[
    list[str] | None,
    typer.Option(
        help="Write a report that CI systems read: tap=FILE, ktap=FILE, junit=FILE or nipa=FILE. Repeatable.",
        metavar="FORMAT=FILE",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(help="How many trials run at once in virtual time. Default: one for each core.", min=1, metavar="N"),
]
Seconds = Annotated[float, typer.Option(help="End a trial after this wall-clock time.", min=0, metavar="SECONDS")]
Stall = Annotated[
    float,
    typer.Option(
        help="End a trial after this much CPU time without progress in virtual time.", min=0, metavar="SECONDS"
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Compile sources and kernel patches even if this machine cannot confine the compiler.",
    ),
]


def named_seeds(seeds: str | None, first: int) -> Sequence[int] | None:
    """Return the seeds that the option names, or None without the option. Raises InputError."""
    if seeds is None:
        return None
    from lab.app.seeding import parse

    return parse(seeds, first)
