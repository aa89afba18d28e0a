"""The commands. Each one asks a layer, shows its answer, and ends with the contract's exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Protocol

import typer

from lab.cli import output
from lab.cli.kernels import kernels
from lab.cli.output import Json
from lab.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lab.cli import comparing
    from lab.report.notebooks import Compared

app = typer.Typer(
    name="lab",
    help="A network lab whose results anyone can reproduce to the byte.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(kernels, name="kernel")
baselines = typer.Typer(help="Records kept to compare with.", no_args_is_help=True)
app.add_typer(baselines, name="baseline")

Results = Annotated[Path, typer.Option("--results", help="The store of records.", metavar="DIR")]
STORE = Path("results")
Claims = Annotated[list[str] | None, typer.Argument(metavar="[CLAIM | ARTICLE | FILE.py]...")]
On = Annotated[str, typer.Option("--on", help="Where trials run: uml, host, vm or auto.")]
Seed = Annotated[int, typer.Option(help="Where every random number starts from.")]
Jobs = Annotated[int | None, typer.Option(help="Trials side by side; one a core unless set.")]
Seconds = Annotated[float, typer.Option(help="Seconds of wall time after which a trial is given up.")]
TopologyName = Annotated[str, typer.Argument(metavar="TOPOLOGY", help="Its name in topologies/, or its file.")]
Junit = Annotated[Path | None, typer.Option(help="A file for JUnit XML, too.", metavar="FILE")]
Page = Annotated[Path | None, typer.Option(help="A file for a page that shows and explains it, too.", metavar="FILE")]


class Answer(Protocol):
    """What a command found out."""

    @property
    def exit_code(self) -> int:
        """The contract's."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""

    def render(self) -> RenderableType:
        """For a person."""


@app.command()
def doctor(results: Results = STORE, as_json: Json = False) -> None:
    """What works on this machine and what does not, with the cure."""
    from dataclasses import asdict

    from lab.cli import doctor as checks

    found = checks.report(results)
    if as_json:
        output.emit({"checks": [asdict(check) for check in found]})
    else:
        output.show(checks.render(found))
    if any(check.ok is False for check in found):
        raise typer.Exit(3)


@app.command()
def check(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...")] = None, as_json: Json = False
) -> None:
    """Validate topologies and experiments: these files, or all of them."""
    from lab.spec import find
    from lab.spec.errors import SpecError

    problems = find.check(files or ())
    if problems:
        raise SpecError(problems)
    if as_json:
        output.emit({"errors": []})
    else:
        output.say("no mistakes found")


@app.command("list")
def list_all(as_json: Json = False) -> None:
    """Articles, claims, topologies and kernels."""
    from lab.cli import listing

    plain = listing.everything()
    if as_json:
        output.emit(plain)
    else:
        output.show(listing.render(plain))


@app.command()
def run(
    claims: Claims = None,
    on: On = "uml",
    kernel: Annotated[str | None, typer.Option(help="A built kernel: name, version or id.")] = None,
    clock: Annotated[str | None, typer.Option(help="virtual or real.")] = None,
    fabric: Annotated[str, typer.Option(help="What makes the network: netlink or mininet.")] = "netlink",
    seed: Seed = 1,
    repeat: Annotated[int, typer.Option(help="How often to run each trial; in virtual time to the same bytes.")] = 1,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    stall: Annotated[float, typer.Option(help="Seconds of CPU without progress in the guest's time: a hang.")] = 60.0,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Run claims (all of them unless named), judge them, and keep the records."""
    from lab import claims as answers
    from lab.kernel import Budget, choose
    from lab.report import text
    from lab.runner.plan import Settings
    from lab.spec.find import find as find_experiments

    experiments = find_experiments(claims or ())
    ground = choose(on, kernel, clock)
    settings = Settings(ground, clock or ground.clocks[0], seed, repeat, fabric)
    answer = answers.run(experiments, settings, results, jobs, Budget(wall=budget, stall=stall))
    found = [each.result for each in answer.judged]
    if as_json:
        output.emit({"claims": [each.plain() for each in found]})
    else:
        from rich.console import Group

        output.show(Group(*map(text.block, found)))
    for remark in (remark for each in found for remark in text.remarks(each)):
        output.say(remark)
    raise typer.Exit(answer.exit_code)


@app.command()
def report(
    results: Results = STORE,
    out: Annotated[Path, typer.Option("-o", "--output", help="Where the pages go.", metavar="DIR")] = Path("report"),
    as_json: Json = False,
) -> None:
    """Render the notebooks to HTML pages, from the records of earlier runs."""
    from lab.report import site

    pages = site.build(results, out, say=output.say)
    if as_json:
        output.emit({"index": str(pages.index), "pages": [str(page) for page in pages.articles]})
    else:
        print(pages.index)


@app.command()
def verify(
    results: Annotated[Path, typer.Argument(help="The store of records.", metavar="[RESULTS]")] = STORE,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    as_json: Json = False,
) -> None:
    """Run recorded trials again, here, and say which bytes differ."""
    from lab.cli import verifying
    from lab.kernel import Budget

    _answer(verifying.verify(results, jobs, Budget(wall=budget)), as_json)


@app.command()
def compare(
    base: Annotated[Path, typer.Argument(help="A store of records.", metavar="BASE")],
    new: Annotated[Path, typer.Argument(help="Another one.", metavar="NEW")],
    junit: Junit = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """What changed between two stores, claim by claim and packet by packet."""
    from lab.cli import comparing
    from lab.report.notebooks import Compared

    answer = comparing.stores(base, new)
    _write_changes(answer, junit, page, new, Compared(against=base))
    _answer(answer, as_json)


@app.command()
def regress(
    kernel: Annotated[list[str] | None, typer.Option(help="Given twice: the base, then the new one.")] = None,
    on: On = "uml",
    baseline: Annotated[str | None, typer.Option(help="A kept baseline, in place of the first kernel.")] = None,
    claims: Claims = None,
    clock: Annotated[str | None, typer.Option(help="virtual or real.")] = None,
    seed: Seed = 1,
    repeat: Annotated[int, typer.Option(help="How often to run each trial; in real time, mixed.")] = 1,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    results: Results = STORE,
    junit: Junit = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Run claims on two kernels, or on one beside a kept baseline, and say what changed."""
    from lab.cli import comparing
    from lab.kernel import Budget, choose
    from lab.report.notebooks import Compared
    from lab.runner.plan import Settings
    from lab.spec.find import find as find_experiments

    named = kernel or ()
    if len(named) > 1 if baseline else len(named) != 2:
        raise InputError("regress compares two kernels (--kernel 6.12 --kernel 7.2), or --baseline NAME and one")
    experiments, limits = find_experiments(claims or ()), Budget(wall=budget)
    grounds = [choose(on, name, clock) for name in (named or (None,))]
    settings = [Settings(ground, clock or ground.clocks[0], seed, repeat) for ground in grounds]
    if baseline:
        answer = comparing.baseline(experiments, baseline, settings[0], results, jobs, limits)
        compared = Compared(None, settings[0].kernel.id, comparing.baseline_folder(results, baseline))
    else:
        answer = comparing.kernels(experiments, settings, results, jobs, limits)
        compared = Compared(settings[0].kernel.id, settings[1].kernel.id)
    _write_changes(answer, junit, page, results, compared)
    _answer(answer, as_json)


@app.command()
def bisect(
    claim: Annotated[str, typer.Argument(help="The claim that changed.", metavar="CLAIM | FILE.py")],
    tree: Annotated[Path, typer.Option(help="A kernel tree in git.", metavar="DIR")],
    good: Annotated[str, typer.Option(help="A revision from before.", metavar="REV")],
    bad: Annotated[str, typer.Option(help="A later revision, where the claim is another.", metavar="REV")],
    seed: Seed = 1,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Find the commit that changed a claim, in the history of a kernel tree."""
    from lab.cli import bisecting
    from lab.kernel import Budget, shown
    from lab.spec.find import find as find_experiments

    experiments = find_experiments([claim])
    if len(experiments) != 1:
        raise InputError(f"{claim} is an article: bisect one of {', '.join(each.id for each in experiments)}")
    with shown() as progress:
        search = bisecting.Search(experiments[0], seed, jobs, Budget(wall=budget), progress)
        answer = bisecting.bisect(search, tree, good, bad, results)
    _answer(answer, as_json)


@baselines.command("save")
def save_baseline(
    name: Annotated[str, typer.Argument(help="What to call it.")],
    claims: Claims = None,
    kernel: Annotated[str | None, typer.Option(help="A kernel: name, version or id.")] = None,
    on: On = "uml",
    seed: Seed = 1,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Keep the records of a kernel, to compare later ones with."""
    from lab.cli import comparing
    from lab.kernel import choose
    from lab.spec.find import find as find_experiments

    folder, count = comparing.save(find_experiments(claims or ()), choose(on, kernel), seed, results, name)
    if as_json:
        output.emit({"baseline": str(folder), "records": count})
    else:
        print(f"baseline {name}: {count} records in {folder}")


@app.command()
def graph(
    topology: TopologyName,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="An SVG file, too.", metavar="FILE.svg")] = None,
    as_json: Json = False,
) -> None:
    """Draw a topology: in the terminal, and as SVG."""
    from lab.cli import drawing

    _answer(drawing.draw(topology, out), as_json)


@app.command()
def shell(
    topology: TopologyName,
    host: Annotated[
        str | None, typer.Argument(metavar="[HOST]", help="Whose shell; the first host's unless named.")
    ] = None,
    command: Annotated[
        str | None, typer.Option("-c", help="Run this instead of asking for it.", metavar="COMMAND")
    ] = None,
    kernel: Annotated[str | None, typer.Option(help="A built kernel: name, version or id.")] = None,
    clock: Annotated[str, typer.Option(help="real, or virtual with -c.")] = "real",
    seed: Seed = 1,
) -> None:
    """Bring a topology up and type commands in one of its hosts."""
    from lab.cli.hands_on import hand_over

    raise typer.Exit(hand_over("shell", topology, host, command, kernel, clock, seed))


@app.command()
def mn(
    topology: TopologyName,
    command: Annotated[
        str | None, typer.Option("-c", help="Mininet's commands, a line each.", metavar="COMMAND")
    ] = None,
    kernel: Annotated[str | None, typer.Option(help="A built kernel: name, version or id.")] = None,
    clock: Annotated[str, typer.Option(help="real, or virtual with -c.")] = "real",
    seed: Seed = 1,
) -> None:
    """Bring a topology up by Mininet, and open Mininet's own command line."""
    from lab.cli.hands_on import hand_over

    raise typer.Exit(hand_over("mininet", topology, None, command, kernel, clock, seed))


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="ARTICLE/CLAIM", help="What to call it.")], as_json: Json = False
) -> None:
    """Write an experiment that runs as it is, and its test, to start from."""
    from lab.cli import new as scaffold

    claim, files = scaffold.create(name)
    if as_json:
        output.emit({"claim": claim, "files": files})
    else:
        print(*files, f"next: lab run {claim}, then write your own claim into it", sep="\n")


@app.command()
def schema() -> None:
    """The JSON schema of topologies, for editors."""
    from lab.spec.schema import json_schema

    output.emit(json_schema())


@app.command()
def clean(results: Results = STORE) -> None:
    """Remove what crashed or failed runs left in the store, and nothing else."""
    from lab.runner import cleaning

    for removed in cleaning.clean(results):
        output.say(f"removed {removed}")


def _write_changes(
    answer: comparing.Answer, junit: Path | None, page: Path | None, results: Path, compared: Compared
) -> None:
    from lab.report import site

    if junit:
        junit.write_bytes(answer.junit())
    if page:
        site.build_comparison(results, compared, page, output.say)


def _answer(answer: Answer, as_json: bool) -> NoReturn:
    if as_json:
        output.emit(answer.plain())
    else:
        output.show(answer.render())
    raise typer.Exit(answer.exit_code)
