"""Define the commands that compare kernels: `lab compare`, `lab regress`, `lab bisect`, `lab baseline`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import STORE, Claims, Clock, Jobs, KernelName, On, Programs, Results, Seconds, Seed
from lab.cli.output import Json
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.comparison.page import Changes
    from lab.report.notebooks import Compared

__all__ = ["comparing"]

comparing = typer.Typer()
baselines = typer.Typer(help="Keep records to compare later kernels with.", no_args_is_help=True)
comparing.add_typer(baselines, name="baseline")

Junit = Annotated[Path | None, typer.Option(help="Write JUnit XML to FILE, too.", metavar="FILE")]
Interest = Annotated[
    float, typer.Option(help="The smallest change of a figure that matters, in percent.", metavar="PERCENT", min=0)
]
Page = Annotated[
    Path | None,
    typer.Option(help="Write an HTML page to FILE, too, that shows and explains what changed.", metavar="FILE"),
]


@comparing.command()
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


@comparing.command()
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
        compared = Compared(*kernels, against, interest / 100, tuple(map(str, claims or ())))
    _show_changes(changes, junit, page, results, compared, as_json)


@comparing.command()
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


@comparing.command("atlas")
def make_atlas(
    folder: Annotated[Path, typer.Argument(help="Where the pages go.", metavar="DIR")],
    claims: Claims = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="Kernels, the oldest first; the newest of each series that is built here unless given.",
            metavar="KERNEL,KERNEL...",
            autocompletion=completion.kernels,
        ),
    ] = None,
    script: Annotated[
        list[str] | None,
        typer.Option(
            help="Scripts of packetdrill, as `lab packetdrill run` names them; all of the newest kernel's source "
            "unless given. Repeatable.",
            metavar="SCRIPT | DIR | NAME",
        ),
    ] = None,
    no_scripts: Annotated[bool, typer.Option("--no-scripts", help="Leave packetdrill out.")] = False,
    tree: Annotated[
        Path | None, typer.Option(help="A kernel's git tree, to say more of the commits that are known.", metavar="DIR")
    ] = None,
    seed: Seed = 1,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    stored: Annotated[
        bool, typer.Option("--stored", help="Make the pages from what the store has, and run nothing.")
    ] = False,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Write pages that say what changed in TCP from one kernel to the next, and what shows it."""
    from lab import api
    from lab.cli import kernels

    if script and no_scripts:
        raise InputError("--script names scripts, and --no-scripts leaves them out: give one of them")
    found = api.atlas(
        folder,
        *claims or (),
        kernels=kernels.named(kernel),
        scripts=None if no_scripts else script or ("*",),
        tree=tree,
        seed=seed,
        jobs=jobs,
        budget=budget,
        stored=stored,
        results=results,
    )
    output.answer({**found.plain(), "page": str(folder / "index.html")}, lambda: kernels.atlas(found, folder), as_json)


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


def _show_changes(
    changes: Changes, junit: Path | None, page: Path | None, results: Path, compared: Compared, as_json: bool
) -> None:
    from lab.cli import comparing
    from lab.report import site

    answer = comparing.Answer(changes.changes)
    if junit:
        junit.write_text(answer.junit(), encoding="utf-8")
    if page:
        site.build_comparison(results, compared, page, output.say)
    output.answer(answer.plain(), answer.render, as_json)
    raise typer.Exit(answer.exit_code)
