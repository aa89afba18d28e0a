"""Define the commands about the kernel's own selftests: `lab selftest ...`."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.cli import output, reports
from lab.cli.options import STORE, Jobs, KernelName, Reports, Results, Seconds, Seed, Stall
from lab.cli.output import Json

selftests = typer.Typer(help="Run the kernel's own network selftests, in virtual time.", no_args_is_help=True)
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Patterns of names, as 'mptcp/*'; all network selftests unless named."),
]


@selftests.command("list")
def list_selftests(wanted: Names = None, kernel: KernelName = None, as_json: Json = False) -> None:
    """List the network selftests in the kernel's packaged source."""
    from lab.api.selftests import find

    names = [test.name for test in find(*wanted or (), kernel=kernel)]
    output.answer({"tests": names}, lambda: "\n".join(names), as_json)


@selftests.command("run")
def run_selftests(
    wanted: Names = None,
    kernel: KernelName = None,
    seed: Seed = 1,
    jobs: Jobs = None,
    budget: Seconds = 900.0,
    stall: Stall = 60.0,
    report: Reports = None,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Run network selftests, unchanged, a guest for each, and judge them.

    Tests whose records are in the store are not run again.
    """
    from lab.api.selftests import selftest
    from lab.cli import selftests as showing

    asked = reports.asked(report)
    limits = {"budget": budget, "stall": stall}
    found = selftest(*wanted or (), kernel=kernel, seed=seed, jobs=jobs, results=results, **limits)
    output.answer(found.plain(), lambda: showing.render(found), as_json)
    raise typer.Exit(reports.exit_code(asked, found.cases, found.exit_code))
