"""Define the command `lab export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli import completion, output
from lab.cli.options import Results
from lab.cli.output import Json
from lab.errors import InputError

app = typer.Typer()

_OF_A_TRIAL, _OF_CLAIMS = ("--qlog", "--perfetto", "--tcp-info"), ("--table", "--kcidb")


@app.command()
def export(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TRIAL | CLAIM | ARTICLE",
            help="With --qlog, --perfetto and --tcp-info, a claim or the first digits of a trial's address. With "
            "--table and --kcidb, claims, articles, experiment files or packs. Default: all claims in the project.",
            autocompletion=completion.claims,
        ),
    ] = None,
    qlog: Annotated[bool, typer.Option("--qlog", help="Write a trial's TCP connections as qlog, for qvis.")] = False,
    perfetto: Annotated[
        bool, typer.Option("--perfetto", help="Write a trial as a trace for Perfetto (ui.perfetto.dev).")
    ] = False,
    tcp_info: Annotated[
        bool,
        typer.Option(
            "--tcp-info",
            help="Write the samples of a trial's TCP connections, the fields of `ss -ti`, as a table: .csv, .parquet, "
            "or .arrow.",
        ),
    ] = False,
    wireshark: Annotated[
        Path | None,
        typer.Option(
            help="Write the profile 'replab' into this Wireshark configuration folder, such as ~/.config/wireshark.",
            metavar="DIR",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="Write a table with a row for each seed: .csv, .parquet, or .arrow (Feather).", metavar="FILE"
        ),
    ] = None,
    kcidb: Annotated[
        bool, typer.Option("--kcidb", help="Write the verdicts on each kernel for KCIDB, the kernel's CI database.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The file to write. Default: a file in the current directory with the trial's name, or kcidb.json.",
            metavar="FILE",
        ),
    ] = None,
    arm: Annotated[str | None, typer.Option(help="Export a trial of this arm. Default: the first arm.")] = None,
    point: Annotated[str | None, typer.Option(help="Export a trial at this point of a sweep.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Export the trial with this seed. Default: the first.", metavar="N", min=0)
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="Use this kernel's records (name, version or id). Default: the newest; with --kcidb, each kernel.",
            autocompletion=completion.kernels,
        ),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option(help="With --kcidb, the name of your CI system at KCIDB. Default: replab.", metavar="NAME"),
    ] = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Write records for other programs: qvis, Perfetto, Wireshark, data frames and KCIDB.

    Exports of the same store are identical, byte for byte. `lab store export` writes the packets of a capture as a
    table.
    """
    from lab.ext.export import api

    asked = {
        "--qlog": qlog,
        "--perfetto": perfetto,
        "--tcp-info": tcp_info,
        "--wireshark": wireshark is not None,
        "--table": table is not None,
        "--kcidb": kcidb,
    }
    chosen = [option for option, value in asked.items() if value]
    if len(chosen) != 1:
        raise InputError(f"name one of {', '.join(asked)} (`lab store export` writes packets as a table)")
    given = {
        "--output": (out, (*_OF_A_TRIAL, "--kcidb")),
        "--arm": (arm, _OF_A_TRIAL),
        "--point": (point, _OF_A_TRIAL),
        "--seed": (seed, _OF_A_TRIAL),
        "--kernel": (kernel, _OF_CLAIMS),
        "--origin": (origin, ("--kcidb",)),
        "a name": (names or None, (*_OF_A_TRIAL, *_OF_CLAIMS)),
    }
    for option, (value, needed) in given.items():
        if value is not None and chosen[0] not in needed:
            raise InputError(f"{option} does not go with {chosen[0]}, only with {' or '.join(needed)}")
    if wireshark is not None:
        profile = api.export_wireshark(wireshark)
        said = f"{profile}: open a capture with `wireshark -C {profile.name} FILE`"
        output.answer({"profile": str(profile)}, lambda: said, as_json)
    elif table is not None:
        _answer(table, "rows", api.export_table(*names or (), out=table, kernel=kernel, results=results), as_json)
    elif kcidb:
        target = out or Path("kcidb.json")
        tests = api.export_kcidb(*names or (), out=target, kernel=kernel, origin=origin, results=results)
        _answer(target, "tests", tests, as_json)
    else:
        if len(names or ()) != 1:
            raise InputError(f"{chosen[0]} takes one trial; name a claim, or a trial's address")
        write = api.export_qlog if qlog else api.export_perfetto if perfetto else api.export_tcp_info
        file, count = write((names or [""])[0], out, arm=arm, point=point, seed=seed, results=results)
        _answer(file, "rows" if tcp_info else "events", count, as_json)


def _answer(file: Path, what: str, count: int, as_json: bool) -> None:
    said = what.removesuffix("s") if count == 1 else what
    output.answer({"file": str(file), what: count}, lambda: f"{file}: {count:,} {said}", as_json)
