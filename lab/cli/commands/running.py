"""Define the commands that run claims: `lab run`, and `lab watch` for one trial."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lab.cli import completion, output, reports
from lab.cli.options import (
    STORE,
    Begun,
    Claims,
    Clock,
    FabricName,
    Jobs,
    KernelName,
    KernelNames,
    On,
    Programs,
    Repeat,
    Reports,
    Results,
    Seconds,
    Seed,
    Seeds,
    Stall,
    named_seeds,
)
from lab.cli.output import Json
from lab.cli.taking import Clocked
from lab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.ci.case import Case
    from lab.report.claims import Claims as Judged
    from lab.usecases.watching import Glimpse

__all__ = ["running"]

running = typer.Typer()


@running.command()
def run(
    claims: Claims = None,
    on: On = "uml",
    kernel: KernelNames = None,
    clock: Clock = None,
    fabric: FabricName = "netlink",
    userland: Programs = "sealed",
    seed: Seed = 1,
    seeds: Seeds = None,
    repeat: Repeat = 1,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    stall: Stall = 60.0,
    store: Annotated[
        str | None,
        typer.Option(help="Take records from this shared store before anything runs.", metavar="URL | DIR"),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Run by Dask: local:N, tcp://HOST:PORT, slurm:N, or a scheduler file.",
            metavar="WHERE",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(help="Run one part of the trials, 3/16 say, and judge nothing.", metavar="I/N"),
    ] = None,
    balance: Annotated[
        Path | None,
        typer.Option("--plan", help="Balance shards by what `lab plan --json` wrote to FILE.", metavar="FILE"),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Begin although the disk or the memory is estimated not to do.")
    ] = False,
    results: Results = STORE,
    bundle: Annotated[
        Path | None,
        typer.Option("--from", help="Take kernel and userland out of this bundle; nothing is built.", metavar="FILE"),
    ] = None,
    build: Annotated[
        bool,
        typer.Option("--build", help="Build missing kernels: one before the claims, variants beside those without."),
    ] = False,
    begun: Begun = None,
    report: Reports = None,
    as_json: Json = False,
) -> None:
    """Run claims, judge them, and keep the records.

    Trials whose records are in the store are not run again.
    """
    from lab import api
    from lab.cli import kernels

    options: dict[str, Any] = {
        "on": on,
        "kernel": kernel,
        "clock": clock,
        "fabric": fabric,
        "userland": userland,
        "repeat": repeat,
        "jobs": jobs,
        "budget": budget,
        "stall": stall,
        "results": results,
        "bundle": bundle,
        "store": store,
        "cluster": cluster,
        "anyway": anyway,
    }
    names = kernels.named(kernel)
    if len(names) > 1 and (shard or seeds or build):
        raise InputError("--kernel A,B runs on several kernels: it goes with neither --shard, --seeds nor --build")
    if build and (shard or seeds):
        raise InputError("--build is for one run: first `lab kernel build --variants`, then --shard or --seeds")
    if report and (shard or seeds):
        raise InputError("--report says what one run found: it goes with neither --shard nor --seeds")
    if balance and not shard:
        raise InputError("--plan balances shards: give --shard, too")
    if shard is not None:
        from lab.cli.commands.campaigns import render_shard

        part = api.run_shard(shard, *claims or (), seed=seed, seeds=named_seeds(seeds, seed), plan=balance, **options)
        output.answer(part.plain(), lambda: render_shard(part), as_json)
        raise typer.Exit(part.exit_code)
    if wanted := named_seeds(seeds, seed):
        from lab.cli import seeding

        several = api.run_seeds(wanted, *claims or (), **options)
        output.answer(several.plain(), lambda: seeding.render(several), as_json)
        for said in seeding.remarks(several):
            output.say(said)
        raise typer.Exit(several.exit_code)
    asked = reports.asked(report)
    if len(names) > 1:
        others = {name: value for name, value in options.items() if name != "kernel"}
        beside = api.run_kernels(names, *claims or (), seed=seed, **others)
        output.answer(kernels.plain(beside), lambda: kernels.render(beside), as_json)
        for said in kernels.remarks(beside):
            output.say(said)
        raise typer.Exit(reports.exit_code(asked, lambda: kernels.cases(beside), kernels.exit_code(beside)))
    clocked = Clocked(begun or time.time())
    found = api.run(*claims or (), seed=seed, build=build, judged=clocked.note, **options)
    from lab.report import text  # a guest starts sooner when it is not waited for

    judged = [claim.judged.result for claim in found]
    output.answer(found.plain(), lambda: text.blocks(judged), as_json)
    for remark in (remark for result in judged for remark in text.remarks(result)):
        output.say(remark)
    if begun and clocked.times:
        output.say(clocked.said("verdict"))
    raise typer.Exit(reports.exit_code(asked, lambda: _cases(found), found.exit_code))


def _cases(found: Judged) -> Sequence[Case]:
    from lab.report import cases  # draws every claim as text

    return cases.cases(found)


@running.command()
def watch(
    claim: Annotated[str, typer.Argument(metavar="CLAIM", help="What to watch.", autocompletion=completion.claims)],
    arm: Annotated[str | None, typer.Option(help="The arm whose first trial runs; the first one unless named.")] = None,
    kernel: KernelName = None,
    seed: Seed = 1,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Run one trial and show its window, its queue and its goodput while it runs.

    The record is the one that `lab run` makes; one that the store has stays, and is compared with it byte by byte. The
    window is cwnd where the trial samples tcp_info, else the bytes in flight; the queue is how much longer than the
    shortest one a round trip takes.
    """
    from lab import api
    from lab.cli import watching

    glimpses: list[Glimpse] = []
    with watching.shown() as screen:

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
