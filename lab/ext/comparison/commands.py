"""Define the commands that compare kernels: `lab compare`, `lab regress`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.app.options import RunOptions
from lab.base.writing import write
from lab.cli import completion, output
from lab.cli.options import Claims, with_options
from lab.cli.output import Json
from lab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.ext.comparison.page import Changes
    from lab.ext.comparison.unclaimed import RecordChange
    from lab.report.told import Compared

app = typer.Typer()

_Junit = Annotated[Path | None, typer.Option(help="Also write the result as JUnit XML to this file.", metavar="FILE")]
_Interest = Annotated[
    float,
    typer.Option(help="The smallest relative change in a figure that matters, in percent.", metavar="PERCENT", min=0),
]
_Page = Annotated[
    Path | None,
    typer.Option(help="Also write an HTML page that shows and explains the changes.", metavar="FILE"),
]


@app.command()
def compare(
    base: Annotated[Path, typer.Argument(help="The store with the base records.", metavar="BASE")],
    new: Annotated[Path, typer.Argument(help="The store with the new records.", metavar="NEW")],
    interest: _Interest = 0.5,
    junit: _Junit = None,
    page: _Page = None,
    as_json: Json = False,
) -> None:
    """Compare two stores, claim by claim and packet by packet.

    For scripts and test suites, the command compares the output, the packets and the files.
    """
    from lab.ext.comparison import api
    from lab.report.told import Compared

    changes = api.compare(results=new, against=base, interest=interest / 100)
    others = api.compare_unclaimed(base, new)
    if not others and not any(each.was_compared for each in changes):
        raise InputError(
            f"{base} and {new} have no records of the same current experiment or script; run the same claims into both"
        )
    compared = Compared(against=base, interest=interest / 100)
    _show_changes(changes, junit, page, new, compared, as_json, others)


@app.command()
@with_options(RunOptions, without=["kernel"])
def regress(
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            help="A kernel name, version or id. Give this option twice, first for the base kernel.",
            autocompletion=completion.kernels,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="Compare with the records of this baseline instead of a base kernel.", metavar="NAME"),
    ] = None,
    claims: Claims = None,
    *,
    options: RunOptions,
    stored: Annotated[
        bool,
        typer.Option(
            "--stored", help="Compare real-time records in the store even if the kernels ran at different times."
        ),
    ] = False,
    interest: _Interest = 0.5,
    junit: _Junit = None,
    page: _Page = None,
    as_json: Json = False,
) -> None:
    """Run claims on two kernels, and show what changed.

    Give --kernel twice: once for the base kernel and once for the new kernel. With --baseline, give --kernel at most
    once, for the new kernel.
    """
    from lab.ext.comparison import api, baselines
    from lab.machine.kernel import choose
    from lab.report.told import Compared

    named = kernel or []
    fits = len(named) <= 1 if baseline else len(named) == 2
    if not fits:
        raise InputError("regress compares two kernels; give --kernel A --kernel B, or --baseline NAME --kernel B")
    new = named[-1] if named else None
    base = None if baseline else named[0]
    given = options.given(without=["kernel"])
    changes = api.regress(base, new, *claims or (), baseline=baseline, stored=stored, interest=interest / 100, **given)
    compared = Compared()
    if page:
        against = baselines.folder_of(options.folder, baseline) if baseline else None
        kernels = None if baseline else choose(options.on, base).id, choose(options.on, new).id
        compared = Compared(*kernels, against, interest / 100, tuple(map(str, claims or ())))
    _show_changes(changes, junit, page, options.folder, compared, as_json)


def _show_changes(
    changes: Changes,
    junit: Path | None,
    page: Path | None,
    results: Path,
    compared: Compared,
    as_json: bool,
    others: Sequence[RecordChange] = (),
) -> None:
    from lab.ext.comparison.display import Answer
    from lab.report import site

    answer = Answer(changes.changes, tuple(others))
    if junit:
        write(answer.junit(), junit)
    if page:
        site.build_comparison(results, compared, page, output.say)
    output.answer(answer.plain(), answer.render, as_json)
    raise typer.Exit(answer.exit_code)
