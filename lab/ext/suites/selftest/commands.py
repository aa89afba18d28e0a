"""Define the commands for the kernel's own selftests: `lab selftest ...`."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.app.options import SuiteOptions
from lab.cli import output, reports
from lab.cli.options import KernelName, Reports, with_options
from lab.cli.output import Json

app = typer.Typer(help="Run the kernel's own network selftests, in virtual time.", no_args_is_help=True)
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Name patterns, such as 'mptcp/*'. Default: all network selftests."),
]


@app.command("list")
def list_selftests(wanted: Names = None, kernel: KernelName = None, as_json: Json = False) -> None:
    """List the network selftests in the kernel's packaged source."""
    from lab.ext.suites.selftest.api import find

    names = [test.name for test in find(*wanted or (), kernel=kernel)]
    output.answer({"tests": names}, lambda: "\n".join(names), as_json)


@app.command("run")
@with_options(SuiteOptions)
def run_selftests(
    wanted: Names = None, *, options: SuiteOptions, report: Reports = None, as_json: Json = False
) -> None:
    """Run unchanged network selftests, each in its own guest, and judge the results.

    A test whose record is already in the store does not run again.
    """
    from lab.ext.suites.selftest import display as showing
    from lab.ext.suites.selftest.api import selftest

    asked = reports.asked(report)
    found = selftest(*wanted or (), **options.given())
    output.answer(found.plain(), lambda: showing.render(found), as_json)
    raise typer.Exit(reports.exit_code(asked, found.cases, found.exit_code))
