"""Define the command that runs claims, `lab run`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from lab.app.options import RunOptions
from lab.cli import running_claims
from lab.cli.options import Begun, Claims, KernelNames, Reports, SeedNumbers, with_options
from lab.cli.output import Json

running = typer.Typer()


@running.command()
@with_options(RunOptions, without=["kernel"])
def run(
    claims: Claims = None,
    *,
    kernel: KernelNames = None,
    options: RunOptions,
    seeds: SeedNumbers = None,
    shard: Annotated[
        str | None,
        typer.Option(help="Run only shard I of N of the trials, such as 3/16, and judge no claims.", metavar="I/N"),
    ] = None,
    balance: Annotated[
        Path | None,
        typer.Option(
            "--plan",
            help="Balance the shards with this file, the output of `lab cluster plan --json`.",
            metavar="FILE",
        ),
    ] = None,
    build: Annotated[
        bool,
        typer.Option("--build", help="Build missing kernels. Each claim starts as soon as its kernels are built."),
    ] = False,
    begun: Begun = None,
    report: Reports = None,
    as_json: Json = False,
) -> None:
    """Run claims, judge them, and store the records.

    A trial whose record is already in the store does not run again.
    """
    raise typer.Exit(
        running_claims.run(
            claims,
            options=replace(options, kernel=kernel),
            seeds=seeds,
            shard=shard,
            balance=balance,
            build=build,
            begun=begun,
            report=report,
            as_json=as_json,
        )
    )
