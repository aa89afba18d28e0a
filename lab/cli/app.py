"""Define the commands. Each one asks a layer, shows its answer, and ends with the contract's exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lab.cli import completion, output
from lab.cli.campaigns import campaigns
from lab.cli.kernels import kernels
from lab.cli.options import (
    STORE,
    Claims,
    Clock,
    FabricName,
    KernelName,
    On,
    Programs,
    Repeat,
    Results,
    Seed,
    Seeds,
    named_seeds,
)
from lab.cli.output import Json
from lab.cli.userlands import userlands
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.comparison.page import Changes
    from lab.report.notebooks import Compared

app = typer.Typer(
    name="lab",
    help="A network lab whose results anyone can reproduce to the byte.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(kernels, name="kernel")
app.add_typer(userlands, name="userland")
baselines = typer.Typer(help="Keep records to compare later kernels with.", no_args_is_help=True)
app.add_typer(baselines, name="baseline")
app.add_typer(campaigns)

SessionKernel = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        help="A built kernel's name, version or id; the newest unless given.",
        autocompletion=completion.kernels,
    ),
]
SessionClock = Annotated[str, typer.Option("--clock", help="real, or virtual, which needs -c.")]
Jobs = Annotated[int | None, typer.Option(help="Trials to run at once in virtual time; one per core unless given.")]
Seconds = Annotated[float, typer.Option(help="Give a trial up after so many seconds of wall-clock time.")]
TopologyName = Annotated[
    str,
    typer.Argument(metavar="TOPOLOGY", help="A name in topologies/, or a file.", autocompletion=completion.topologies),
]
Junit = Annotated[Path | None, typer.Option(help="Write JUnit XML to FILE, too.", metavar="FILE")]
Interest = Annotated[
    float, typer.Option(help="The smallest change of a figure that matters, in percent.", metavar="PERCENT", min=0)
]
Page = Annotated[
    Path | None,
    typer.Option(help="Write an HTML page to FILE, too, that shows and explains what changed.", metavar="FILE"),
]


@app.command()
def doctor(results: Results = STORE, as_json: Json = False) -> None:
    """Check what works on this machine, and say how to cure the rest."""
    from dataclasses import asdict

    from lab.cli import doctor as checks

    found = checks.report(results)
    output.answer({"checks": [asdict(check) for check in found]}, lambda: checks.render(found), as_json)
    if any(check.ok is False for check in found):
        raise typer.Exit(3)


@app.command()
def check(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="A topology or an experiment.")] = None,
    as_json: Json = False,
) -> None:
    """Check topologies and experiments for mistakes.

    Without FILE, all of them are checked.
    """
    from lab.spec import find
    from lab.spec.errors import SpecError

    problems = find.check(files or ())
    if problems:
        raise SpecError(problems)
    if as_json:
        output.emit({"errors": []})
    else:
        output.say("no mistakes found")  # only a remark: the answer is what --json prints


@app.command("list")
def list_all(as_json: Json = False) -> None:
    """List articles, claims, topologies and kernels."""
    from lab.cli import listing

    plain = listing.everything()
    output.answer(plain, lambda: listing.render(plain), as_json)


@app.command()
def run(
    claims: Claims = None,
    on: On = "uml",
    kernel: KernelName = None,
    clock: Clock = None,
    fabric: FabricName = "netlink",
    userland: Programs = "sealed",
    seed: Seed = 1,
    seeds: Seeds = None,
    repeat: Repeat = 1,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    stall: Annotated[
        float, typer.Option(help="Seconds of CPU without progress in virtual time that count as a hang.")
    ] = 60.0,
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
    results: Results = STORE,
    bundle: Annotated[
        Path | None,
        typer.Option("--from", help="Take kernel and userland out of this bundle; nothing is built.", metavar="FILE"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run claims, judge them, and keep the records.

    Trials whose records are in the store are not run again.
    """
    from lab import api
    from lab.report import text

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
    }
    if balance and not shard:
        raise InputError("--plan balances shards: give --shard, too")
    if shard is not None:
        from lab.cli.campaigns import render_shard

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
    found = api.run(*claims or (), seed=seed, **options)
    judged = [claim.judged.result for claim in found]
    output.answer(found.plain(), lambda: text.blocks(judged), as_json)
    for remark in (remark for result in judged for remark in text.remarks(result)):
        output.say(remark)
    raise typer.Exit(found.exit_code)


@app.command()
def report(
    results: Results = STORE,
    out: Annotated[Path, typer.Option("-o", "--output", help="Folder for the pages.", metavar="DIR")] = Path("report"),
    as_json: Json = False,
) -> None:
    """Render the notebooks to HTML pages.

    The pages show the records of earlier runs.
    """
    from lab.report import site

    pages = site.build(results, out, say=output.say)
    plain = {"index": str(pages.index), "pages": [str(page) for page in pages.articles]}
    output.answer(plain, lambda: str(pages.index), as_json)


@app.command()
def verify(
    results: Annotated[
        Path, typer.Argument(help="The store: the folder of records; or a bundle's file.", metavar="RESULTS | FILE")
    ] = STORE,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    sample: Annotated[
        str, typer.Option(help="The part of the trials, left to chance, that runs again.", metavar="PERCENT")
    ] = "100%",
    as_json: Json = False,
) -> None:
    """Run recorded trials again, here, and say which bytes differ.

    The trials of a bundle run on its own kernels and userland. Every record is hashed again in any case.
    """
    from lab import api
    from lab.cli import verifying

    found = api.verify(results, jobs, budget, verifying.part(sample))
    output.answer(found.plain(), lambda: verifying.render(found), as_json)
    raise typer.Exit(found.exit_code)


@app.command()
def bundle(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write, as claims.tar.zst.")],
    claims: Claims = None,
    results: Results = STORE,
    report: Annotated[
        Path | None, typer.Option(help="The folder of pages; report/ unless given, if it is there.", metavar="DIR")
    ] = None,
    as_json: Json = False,
) -> None:
    """Put claims with their records, kernels and pages into one file that runs them again anywhere.

    `python3 OUT verify` does, with nothing installed.
    """
    from lab import api

    pages = report or (Path("report") if Path("report").is_dir() else None)
    made = api.bundle(out, *claims or (), results=results, report=pages)
    size = f"{out.stat().st_size / 1e6:.0f} MB"
    said = f"{out}: {len(made.claims)} claims, {made.records} records, {size}; `python3 {out} verify` runs them again"
    output.answer(made.plain(), lambda: said, as_json)


@app.command()
def compare(
    base: Annotated[Path, typer.Argument(help="A store: the records from before.", metavar="BASE")],
    new: Annotated[Path, typer.Argument(help="Another store: the records from after.", metavar="NEW")],
    interest: Interest = 0.5,
    junit: Junit = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Compare two stores, claim by claim and packet by packet."""
    from lab import api
    from lab.report.notebooks import Compared

    for store in (base, new):
        if not store.is_dir():
            raise InputError(f"{store} is no store of records")
    changes = api.compare(results=new, against=base, interest=interest / 100)
    if not any(each.was_compared for each in changes):
        raise InputError(f"{base} and {new} have no claim in common, of the experiments as they stand")
    _show_changes(changes, junit, page, new, Compared(against=base, interest=interest / 100), as_json)


@app.command()
def regress(
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            help="A kernel's name, version or id. Give it twice: the base, then the new one.",
            autocompletion=completion.kernels,
        ),
    ] = None,
    on: On = "uml",
    baseline: Annotated[str | None, typer.Option(help="A kept baseline, in place of the base kernel.")] = None,
    claims: Claims = None,
    clock: Clock = None,
    userland: Programs = "sealed",
    seed: Seed = 1,
    repeat: Annotated[
        int, typer.Option(help="How many times to run each trial. In real time both kernels' runs are mixed.")
    ] = 1,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    stored: Annotated[
        bool,
        typer.Option(
            "--stored", help="Compare the store's real-time records, though the kernels ran at different times."
        ),
    ] = False,
    interest: Interest = 0.5,
    results: Results = STORE,
    junit: Junit = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Run claims on two kernels and say what changed.

    Give --kernel twice. Or give --baseline, whose records stand in for the base kernel, and --kernel at most once.
    """
    from lab import api
    from lab.kernel import choose
    from lab.report.notebooks import Compared
    from lab.usecases import baselines

    named = kernel or []
    fits = len(named) <= 1 if baseline else len(named) == 2
    if not fits:
        raise InputError("regress compares two kernels (--kernel 6.12 --kernel 7.2), or --baseline NAME and one")
    new = named[-1] if named else None
    base = None if baseline else named[0]
    changes = api.regress(
        base,
        new,
        *claims or (),
        on=on,
        baseline=baseline,
        clock=clock,
        userland=userland,
        seed=seed,
        repeat=repeat,
        jobs=jobs,
        budget=budget,
        stored=stored,
        interest=interest / 100,
        results=results,
    )
    compared = Compared()
    if page:
        against = baselines.folder_of(results, baseline) if baseline else None
        kernels = None if baseline else choose(on, base).id, choose(on, new).id
        compared = Compared(*kernels, against, interest / 100)
    _show_changes(changes, junit, page, results, compared, as_json)


@app.command()
def bisect(
    claim: Annotated[
        str,
        typer.Argument(
            help="The claim that changed, or its file.", metavar="CLAIM | FILE.py", autocompletion=completion.claims
        ),
    ],
    tree: Annotated[Path, typer.Option(help="The kernel's source tree, in git.", metavar="DIR")],
    good: Annotated[str, typer.Option(help="A revision from before the change.", metavar="REV")],
    bad: Annotated[str, typer.Option(help="A later revision, from after the change.", metavar="REV")],
    seed: Seed = 1,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Find the commit in a kernel tree that changed a claim."""
    from lab import api
    from lab.cli import bisecting

    found = api.bisect(claim, tree, good, bad, seed=seed, jobs=jobs, budget=budget, results=results)
    output.answer(found.plain(), lambda: bisecting.render(found), as_json)
    raise typer.Exit(found.exit_code)


@baselines.command("save")
def save_baseline(
    name: Annotated[str, typer.Argument(help="A name for the baseline.")],
    claims: Claims = None,
    kernel: KernelName = None,
    on: On = "uml",
    seed: Seed = 1,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Keep a kernel's records, to compare later kernels with."""
    from lab import api

    kept = api.save_baseline(name, *claims or (), kernel=kernel, on=on, seed=seed, results=results)
    output.answer(kept.plain(), lambda: f"baseline {name}: {kept.records} records in {kept.folder}", as_json)


@app.command()
def graph(
    topology: TopologyName,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the drawing to a file, too.", metavar="FILE.svg")
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw a topology in the terminal, and as SVG."""
    from lab.cli import drawing

    drawn = drawing.draw(topology, out)
    output.answer(drawn.plain(), drawn.render, as_json)


@app.command()
def shell(
    topology: TopologyName,
    host: Annotated[
        str | None, typer.Argument(metavar="HOST", help="The host to be in; the first one unless named.")
    ] = None,
    command: Annotated[
        str | None, typer.Option("-c", help="Run this command instead of an interactive shell.", metavar="COMMAND")
    ] = None,
    kernel: KernelName = None,
    clock: SessionClock = "real",
    userland: Programs = "sealed",
    seed: Seed = 1,
) -> None:
    """Bring up a topology and open a shell in one of its hosts."""
    from lab.cli.interactive import hand_over

    raise typer.Exit(hand_over("shell", topology, host, command, kernel, clock, userland, seed))


@app.command()
def mn(
    topology: TopologyName,
    command: Annotated[
        str | None,
        typer.Option(
            "-c", help="Run these commands of Mininet, one per line, instead of asking for them.", metavar="COMMAND"
        ),
    ] = None,
    kernel: KernelName = None,
    clock: SessionClock = "real",
    userland: Programs = "sealed",
    seed: Seed = 1,
) -> None:
    """Bring up a topology in Mininet, and open Mininet's command line."""
    from lab.cli.interactive import hand_over

    raise typer.Exit(hand_over("mininet", topology, None, command, kernel, clock, userland, seed))


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="ARTICLE/CLAIM", help="Name of the new claim.")], as_json: Json = False
) -> None:
    """Write an experiment that runs as it is, and its test.

    They are a start: write your own claim into them.
    """
    from lab.cli import new as scaffold

    claim, files = scaffold.create(name)
    said = "\n".join([*files, f"next: lab run {claim}, then write your own claim into it"])
    output.answer({"claim": claim, "files": files}, lambda: said, as_json)


@app.command()
def schema() -> None:
    """Print the JSON schema of topologies, for editors."""
    from lab.spec.schema import json_schema

    output.emit(json_schema())


@app.command()
def clean(results: Results = STORE) -> None:
    """Remove what crashed and failed runs left; keep all records."""
    from lab.runner import cleaning

    for removed in cleaning.clean(results):
        output.say(f"removed {removed}")


def _show_changes(
    changes: Changes, junit: Path | None, page: Path | None, results: Path, compared: Compared, as_json: bool
) -> None:
    from lab.cli import comparing
    from lab.report import site

    answer = comparing.Answer(changes.changes)
    if junit:
        junit.write_bytes(answer.junit())
    if page:
        site.build_comparison(results, compared, page, output.say)
    output.answer(answer.plain(), answer.render, as_json)
    raise typer.Exit(answer.exit_code)
