"""Define the commands that maintain a store: `lab store ...`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import Results
from lab.cli.output import Json
from lab.errors import InputError

if TYPE_CHECKING:
    from lab.ext.upkeep.packing import Repacked

app = typer.Typer(help="Maintain the store of records.", no_args_is_help=True)

_Claims = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CLAIM | ARTICLE | PACK",
        help="Select only records of these claims. The claims need not be installed.",
        autocompletion=completion.claims,
    ),
]
_OlderThan = Annotated[
    float | None, typer.Option(help="Select only records older than this many days.", metavar="DAYS", min=0.0)
]


@app.command("du")
def usage(results: Results = None, as_json: Json = False) -> None:
    """Show the disk usage of the store, by claim and by kind of file."""
    from lab.ext.upkeep import api, display

    found = api.usage(results)
    output.answer(found.plain(), lambda: display.render_usage(found), as_json)


@app.command("gc")
def collect(
    claims: _Claims = None,
    older_than: _OlderThan = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="Select only records of this kernel (name, version or id).", autocompletion=completion.kernels
        ),
    ] = None,
    unplanned: Annotated[
        bool, typer.Option("--unplanned", help="Select only records that their claim no longer needs.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--yes", help="Remove the selected records. Default: only list them.")
    ] = False,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """List the records that match all conditions, or remove them with --yes.

    The command does not remove records while another command uses the store. For damaged records, use `lab store fsck`.
    """
    from lab.ext.upkeep import api, display

    found = api.collect(
        *claims or (), older_than=_days(older_than), kernel=kernel, unplanned=unplanned, remove=remove, results=results
    )
    output.answer(found.plain(), lambda: display.render_collection(found), as_json)


@app.command("pack")
def pack(claims: _Claims = None, older_than: _OlderThan = None, results: Results = None, as_json: Json = False) -> None:
    """Compress the large captures and samples of records.

    The hashes of the records stay the same. Commands that read a packed file unpack it into the folder for temporary
    files. The command does not pack files while another command uses the store. Default: all records.
    """
    from lab.ext.upkeep import api

    _show(api.pack(*claims or (), older_than=_days(older_than), results=results), as_json)


@app.command("unpack")
def unpack(
    claims: _Claims = None, older_than: _OlderThan = None, results: Results = None, as_json: Json = False
) -> None:
    """Decompress the files that `lab store pack` compressed."""
    from lab.ext.upkeep import api

    _show(api.unpack(*claims or (), older_than=_days(older_than), results=results), as_json)


@app.command("fsck")
def check(
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove damaged records, so that their trials run again.")
    ] = False,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Rehash every record, and list each damaged file.

    The exit code is 1 if a file is damaged.
    """
    from lab.ext.upkeep import api, display

    found = api.fsck(results, remove)
    output.answer(found.plain(), lambda: display.render_checkup(found), as_json)
    raise typer.Exit(found.exit_code)


@app.command("clean")
def clean(results: Results = None) -> None:
    """Remove leftovers of crashed and failed runs, but no records."""
    from lab.app.options import reading_from
    from lab.runner import cleaning

    for removed in cleaning.clean(reading_from(results)):
        output.say(f"removed {removed}")


@app.command("export")
def export(
    claim: Annotated[
        str, typer.Argument(metavar="CLAIM", help="Export the packets of this claim.", autocompletion=completion.claims)
    ],
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write: .parquet, or .arrow (Feather).")],
    results: Results = None,
    arm: Annotated[str | None, typer.Option(help="Export the packets of this arm. Default: the first arm.")] = None,
    as_json: Json = False,
) -> None:
    """Export the packets of a capture as a table for polars, pandas and other tools.

    The table has one row per packet. Memory usage does not grow with the number of packets.
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
        raise InputError(f"--older-than {number:g} is too large; use at most {timedelta.max.days:,} days") from None


def _show(found: Repacked, as_json: bool) -> None:
    from lab.ext.upkeep import display

    output.answer(found.plain(), lambda: display.render_repacked(found), as_json)
    raise typer.Exit(found.exit_code)
