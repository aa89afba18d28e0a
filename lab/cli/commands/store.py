"""Define the commands that keep a store in order: `lab store ...`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import STORE, Results
from lab.cli.output import Json

if TYPE_CHECKING:
    from lab.usecases.packing import Repacked

__all__ = ["store"]

store = typer.Typer(help="Keep the store of records in order.", no_args_is_help=True)

Claims = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CLAIM | ARTICLE | PACK",
        help="Only records of these, which need not be here any more.",
        autocompletion=completion.claims,
    ),
]
OlderThan = Annotated[
    float | None, typer.Option(help="Only records that were made longer ago.", metavar="DAYS", min=0.0)
]


@store.command("du")
def usage(results: Results = STORE, as_json: Json = False) -> None:
    """Show what takes the store's room: by claim, and by kind of file."""
    from lab import api
    from lab.cli import upkeep

    found = api.usage(results)
    output.answer(found.plain(), lambda: upkeep.render_usage(found), as_json)


@store.command("gc")
def collect(
    claims: Claims = None,
    older_than: OlderThan = None,
    kernel: Annotated[
        str | None,
        typer.Option(help="Only records on this kernel: a name, version or id.", autocompletion=completion.kernels),
    ] = None,
    unplanned: Annotated[
        bool, typer.Option("--unplanned", help="Only records that their claim, as it stands, would not make again.")
    ] = False,
    remove: Annotated[bool, typer.Option("--yes", help="Remove them; without it they are only shown.")] = False,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Show the records that every condition fits; with --yes, remove them.

    Nothing is removed while another command uses the store. Damaged records are for `lab store fsck`.
    """
    from lab import api
    from lab.cli import upkeep

    found = api.collect(
        *claims or (), older_than=_days(older_than), kernel=kernel, unplanned=unplanned, remove=remove, results=results
    )
    output.answer(found.plain(), lambda: upkeep.render_collection(found), as_json)


@store.command("pack")
def pack(claims: Claims = None, older_than: OlderThan = None, results: Results = STORE, as_json: Json = False) -> None:
    """Pack the large captures and samples of records, which stay what they are; without a condition, of all.

    Who reads one unpacks it among temporary files. Nothing is packed while another command uses the store.
    """
    from lab import api

    _show(api.pack(*claims or (), older_than=_days(older_than), results=results), as_json)


@store.command("unpack")
def unpack(
    claims: Claims = None, older_than: OlderThan = None, results: Results = STORE, as_json: Json = False
) -> None:
    """Bring back what `lab store pack` packed."""
    from lab import api

    _show(api.unpack(*claims or (), older_than=_days(older_than), results=results), as_json)


@store.command("fsck")
def check(
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove damaged records, so that their trials run again.")
    ] = False,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Hash every record again, and name each file that is wrong; the exit code is 1 where one is."""
    from lab import api
    from lab.cli import upkeep

    found = api.fsck(results, remove)
    output.answer(found.plain(), lambda: upkeep.render_checkup(found), as_json)
    raise typer.Exit(found.exit_code)


def _days(number: float | None) -> timedelta | None:
    return None if number is None else timedelta(days=number)


def _show(found: Repacked, as_json: bool) -> None:
    from lab.cli import upkeep

    output.answer(found.plain(), lambda: upkeep.render_repacked(found), as_json)
    raise typer.Exit(found.exit_code)
