"""Define the commands that keep a store in order: `lab store ...`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import STORE, Results
from lab.cli.output import Json
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.ext.upkeep.packing import Repacked

app = typer.Typer(help="Keep the store of records in order.", no_args_is_help=True)

_Claims = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CLAIM | ARTICLE | PACK",
        help="Only records of these claims, even if they are no longer installed.",
        autocompletion=completion.claims,
    ),
]
_OlderThan = Annotated[
    float | None, typer.Option(help="Select only records that are older than this.", metavar="DAYS", min=0.0)
]


@app.command("du")
def usage(results: Results = STORE, as_json: Json = False) -> None:
    """Show the store's disk usage, for each claim and each kind of file."""
    from lab.ext.upkeep import api, display

    found = api.usage(results)
    output.answer(found.plain(), lambda: display.render_usage(found), as_json)


@app.command("gc")
def collect(
    claims: _Claims = None,
    older_than: _OlderThan = None,
    kernel: Annotated[
        str | None,
        typer.Option(help="Only records on this kernel: a name, version or id.", autocompletion=completion.kernels),
    ] = None,
    unplanned: Annotated[
        bool, typer.Option("--unplanned", help="Only records that their claim no longer needs.")
    ] = False,
    remove: Annotated[bool, typer.Option("--yes", help="Remove them. Default: only list them.")] = False,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """List the records that match all conditions, and remove them with --yes.

    It removes nothing while another command uses the store. `lab store fsck` handles damaged records.
    """
    from lab.ext.upkeep import api, display

    found = api.collect(
        *claims or (), older_than=_days(older_than), kernel=kernel, unplanned=unplanned, remove=remove, results=results
    )
    output.answer(found.plain(), lambda: display.render_collection(found), as_json)


@app.command("pack")
def pack(
    claims: _Claims = None, older_than: _OlderThan = None, results: Results = STORE, as_json: Json = False
) -> None:
    """Pack the large captures and samples of records.

    The records stay the same. A reader unpacks a file among temporary files. It packs nothing while another command
    uses the store. Default: all records.
    """
    from lab.ext.upkeep import api

    _show(api.pack(*claims or (), older_than=_days(older_than), results=results), as_json)


@app.command("unpack")
def unpack(
    claims: _Claims = None, older_than: _OlderThan = None, results: Results = STORE, as_json: Json = False
) -> None:
    """Unpack the files that `lab store pack` packed."""
    from lab.ext.upkeep import api

    _show(api.unpack(*claims or (), older_than=_days(older_than), results=results), as_json)


@app.command("fsck")
def check(
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove damaged records, so that their trials run again.")
    ] = False,
    results: Results = STORE,
    as_json: Json = False,
) -> None:
    """Hash every record again, and list each wrong file.

    The exit code is 1 if a file is wrong.
    """
    from lab.ext.upkeep import api, display

    found = api.fsck(results, remove)
    output.answer(found.plain(), lambda: display.render_checkup(found), as_json)
    raise typer.Exit(found.exit_code)


@app.command("clean")
def clean(results: Results = STORE) -> None:
    """Remove leftovers of crashed and failed runs. Keep all records."""
    from lab.app.options import reading_from
    from lab.runner import cleaning

    for removed in cleaning.clean(reading_from(results)):
        output.say(f"removed {removed}")


@app.command("export")
def export(
    claim: Annotated[
        str, typer.Argument(metavar="CLAIM", help="The claim whose packets to write.", autocompletion=completion.claims)
    ],
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write: .parquet, or .arrow (Feather).")],
    results: Results = STORE,
    arm: Annotated[str | None, typer.Option(help="The arm whose packets to write. Default: the first one.")] = None,
    as_json: Json = False,
) -> None:
    """Write the packets of a capture as a table, for polars, pandas and other tools.

    The table has a row for each packet. The command's memory does not grow with the number of packets.
    """
    from lab.app.stored import capture
    from lab.metric import table

    written = table.write(capture(claim, arm, results), out)
    output.answer(
        {"file": str(out), "packets": written},
        lambda: f"{out}: {written:,} packet{'' if written == 1 else 's'}",
        as_json,
    )


def _days(number: float | None) -> timedelta | None:
    try:
        return None if number is None else timedelta(days=number)
    except (OverflowError, ValueError):
        raise InputError(f"--older-than {number:g}: use at most {timedelta.max.days:,} days") from None


def _show(found: Repacked, as_json: bool) -> None:
    from lab.ext.upkeep import display

    output.answer(found.plain(), lambda: display.render_repacked(found), as_json)
    raise typer.Exit(found.exit_code)
