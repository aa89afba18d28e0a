"""Define the arguments and options that commands of several modules take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lab.cli import completion

__all__ = [
    "STORE",
    "Begun",
    "Claims",
    "Clock",
    "FabricName",
    "Jobs",
    "KernelName",
    "KernelNames",
    "On",
    "Programs",
    "Repeat",
    "Reports",
    "Results",
    "Seconds",
    "Seed",
    "Seeds",
    "Stall",
    "named_seeds",
]

STORE = Path("results")
Results = Annotated[Path, typer.Option("--results", help="The store: the folder of records.", metavar="DIR")]
Claims = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CLAIM | ARTICLE | FILE.py | PACK",
        help="Claims by name, article, file, pack or pack's folder; all unless named.",
        autocompletion=completion.claims,
    ),
]
On = Annotated[
    str,
    typer.Option(
        "--on",
        help="The kernel under test: uml (built here), host (the running one), vm (a distribution's, under QEMU), "
        "or auto (one that works here).",
    ),
]
Programs = Annotated[
    str,
    typer.Option(
        "--userland",
        help="Whose programs guests run: sealed (locked ones, the same everywhere) or host (this machine's own).",
    ),
]
Seed = Annotated[int, typer.Option(help="Random seed.")]
KernelName = Annotated[
    str | None,
    typer.Option(
        "--kernel", help="A kernel's name, version or id; the newest unless given.", autocompletion=completion.kernels
    ),
]
KernelNames = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        help="A kernel's name, version or id; the newest unless given. Several, as 6.1,7.2: a verdict on each.",
        metavar="KERNEL[,KERNEL...]",
        autocompletion=completion.kernels,
    ),
]
Clock = Annotated[str | None, typer.Option("--clock", help="virtual or real; the kernel's usual one unless given.")]
FabricName = Annotated[str, typer.Option("--fabric", help="What makes the network: netlink (our own) or mininet.")]
Repeat = Annotated[
    int, typer.Option("--repeat", help="How many times to run each trial. In virtual time all give the same bytes.")
]
Begun = Annotated[
    float | None,
    typer.Option(help="Say how long it took since then, in seconds since 1970.", metavar="SECONDS"),
]
Seeds = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        help="Run with several seeds and say which verdicts depend on them: 10 (as many, from --seed on), or 1-5.",
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
Jobs = Annotated[int | None, typer.Option(help="Trials to run at once in virtual time; one per core unless given.")]
Seconds = Annotated[float, typer.Option(help="Give a trial up after so many seconds of wall-clock time.")]
Stall = Annotated[float, typer.Option(help="Seconds of CPU without progress in virtual time that count as a hang.")]


def named_seeds(seeds: str | None, first: int) -> Sequence[int] | None:
    """Return the seeds that the option names; None where it is not given. Raises InputError."""
    if seeds is None:
        return None
    from lab.usecases.seeding import parse

    return parse(seeds, first)
