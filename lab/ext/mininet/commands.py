"""Define the commands `lab mininet` and `lab mn`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.app.options import SuiteOptions
from lab.base.foreign import printable
from lab.cli import completion, output
from lab.cli.options import with_options
from lab.cli.output import Json
from lab.errors import InputError
from lab.ext.mininet.options import MnOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab.ext.mininet.running import MininetRun

app = typer.Typer()


@app.command("mininet", context_settings={"allow_interspersed_args": False})
@with_options(SuiteOptions, without=["jobs"])
def run_script(
    script: Annotated[Path, typer.Argument(help="A Mininet script in Python, or a shell script.", metavar="SCRIPT")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="The arguments of the script: everything after its name.", metavar="ARGUMENT"),
    ] = None,
    *,
    options: SuiteOptions,
    clock: Annotated[
        str, typer.Option("--clock", help="The clock: virtual, or real for Mininet's prompt (no record is kept).")
    ] = "virtual",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Copy the files that the script writes to this folder. Default: the script's name without its ending.",
            metavar="DIR",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a Mininet script, unchanged, in virtual time, and keep a record.

    The same script, arguments and seed give the same bytes on every machine. The script runs as root of a guest, with
    Open vSwitch, and needs no root here. It sees the modules that it imports from its folder, and the files there that
    it names.
    """
    from lab.ext.mininet import api, attending
    from lab.guest.clock import clock_of

    given = options.given(without=["jobs"])
    if clock_of(clock) == "real":
        if as_json:
            raise InputError("--json: a run in real time has no record; leave out --json or --clock real")
        target = api.target_of(script, out)
        packed = api.packed_script(script, target, options, output.say)
        raise typer.Exit(attending.attend(packed, arguments or (), options, target))
    found = api.mininet(script, *arguments or (), out=out, heard=_heard(as_json), warned=output.say, **given)
    _show(found, as_json)


@app.command()
@with_options(MnOptions, without=["jobs"])
def mn(
    topology: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPOLOGY",
            help="A topology name or file, for a network with the lab's wires.",
            autocompletion=completion.topologies,
        ),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            "-c", help="Run these Mininet commands, one per line, instead of opening a prompt.", metavar="COMMAND"
        ),
    ] = None,
    *,
    options: MnOptions,
    clock: Annotated[
        str | None,
        typer.Option(
            "--clock",
            help="The clock: real, or virtual (only with -c or --test). Default: virtual for a network of Mininet's "
            "with -c or --test, else real.",
        ),
    ] = None,
    userland: Annotated[
        str, typer.Option("--userland", help="With TOPOLOGY, the guest's programs: sealed, programs or host.")
    ] = "sealed",
    shown: Annotated[
        Path | None,
        typer.Option(
            "--with",
            help="With TOPOLOGY, make this folder available in the guest, read-only, as /tmp/NAME.",
            metavar="FOLDER",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="Copy the files that commands write to this folder.", metavar="DIR")
    ] = Path("mn"),
    as_json: Json = False,
) -> None:
    """Run Mininet's own command, `mn`, without root, or open its prompt on a topology of the lab.

    The options from --topo on are those of `mn`. With --test or -c, the network runs in virtual time, and the run has a
    record. Otherwise, Mininet's prompt opens in real time. A topology of the lab has the lab's wires, and leaves no
    record.
    """
    from lab.ext.mininet import api
    from lab.ext.mininet.mn import attend_mn, is_attended, on_topology

    if topology is not None:
        raise typer.Exit(on_topology(topology, command, options, clock or "real", userland, shown))
    if userland != "sealed" or shown is not None:
        raise InputError("--userland and --with are for a TOPOLOGY of the lab: leave them out")
    if is_attended(options, command, clock):
        raise typer.Exit(attend_mn(options, command, out))
    given = options.given(without=["jobs"])
    _show(api.mn(commands=command, out=out, heard=_heard(as_json), **given), as_json)


def _heard(as_json: bool) -> Callable[[bytes], None]:
    """Return the function that prints a script's output as it arrives, unless JSON is wanted."""

    def heard(fresh: bytes) -> None:
        if not as_json:
            sys.stdout.write(printable(fresh.decode(errors="replace").replace("\r", "")))
            sys.stdout.flush()

    return heard


def _show(found: MininetRun, as_json: bool) -> None:
    """Print a run, and exit with its status."""
    if as_json:
        output.emit(found.plain())
    else:
        output.say(found.sentence)
        if found.instead:
            output.say(found.instead)
    raise typer.Exit(found.exit_code)
