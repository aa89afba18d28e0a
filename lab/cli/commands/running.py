"""Define the command that runs claims, `lab run`."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.app.options import RunOptions
from lab.cli import output, reports
from lab.cli.options import Begun, Claims, KernelNames, Reports, SeedNumbers, named_seeds, with_options
from lab.cli.output import Json
from lab.cli.taking import Clocked
from lab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.report.ci.case import Case
    from lab.report.claims import Claims as Judged

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
    from lab import app as api
    from lab.cli import kernels

    names = kernels.named(kernel)
    if len(names) > 1 and (shard or seeds or build):
        raise InputError("--kernel A,B does not go with --shard, --seeds or --build; name one kernel")
    if build and (shard or seeds):
        raise InputError("--build does not go with --shard or --seeds; first run `lab kernel build --variants`")
    if report and (shard or seeds):
        raise InputError("--report is for one run and does not go with --shard or --seeds; leave one of them out")
    if balance and not shard:
        raise InputError("--plan balances shards; give --shard, too")
    options = replace(options, kernel=kernel)
    wanted = named_seeds(seeds, options.seed)
    if shard is not None:
        from lab.app.extension import hook

        part = hook("shard", "--shard")(shard, *claims or (), seeds=wanted, plan=balance, **options.given())
        output.answer(part.plain(), part.text, as_json)
        raise typer.Exit(part.exit_code)
    if wanted:
        from lab.cli import seeding

        several = api.run_seeds(wanted, *claims or (), **options.given(without=["seed"]))
        output.answer(several.plain(), lambda: seeding.render(several), as_json)
        for said in seeding.remarks(several):
            output.say(said)
        raise typer.Exit(several.exit_code)
    asked = reports.asked(report)
    if len(names) > 1:
        beside = api.run_kernels(names, *claims or (), **options.given(without=["kernel"]))
        output.answer(kernels.plain(beside), lambda: kernels.render(beside), as_json)
        for said in kernels.remarks(beside):
            output.say(said)
        raise typer.Exit(reports.exit_code(asked, lambda: kernels.cases(beside), kernels.exit_code(beside)))
    clocked = Clocked(begun or time.time())
    found = api.run(*claims or (), build=build, judged=clocked.note, **options.given())
    from lab.report import text  # imported late, so that a guest starts sooner

    judged = [claim.judged.result for claim in found]
    output.answer(found.plain(), lambda: text.blocks(judged), as_json)
    for remark in (remark for claim in found for remark in text.remarks(claim.judged)):
        output.say(remark)
    if begun and clocked.times:
        output.say(clocked.said("verdict"))
    raise typer.Exit(reports.exit_code(asked, lambda: _cases(found), found.exit_code))


def _cases(found: Judged) -> Sequence[Case]:
    from lab.report import cases  # imported late: it draws every claim as text

    return cases.cases(found)
