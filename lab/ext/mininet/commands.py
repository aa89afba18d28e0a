"""Define the commands `lab mininet` and `lab mn`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from lab.base.foreign import printable
from lab.cli import completion, output
from lab.cli.options import with_options
from lab.cli.output import Json
from lab.errors import InputError
from lab.ext.mininet.options import MininetOptions, MnOptions
from lab.report.wording import DASH, plural
from lab.report.wording import figure as worded
from lab.units import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from lab.ext.mininet.comparing import WireComparison
    from lab.ext.mininet.running import MininetRun

app = typer.Typer()
MOST_LINES, MOST_FLOWS = 30, 8  # of a comparison
REAL = "a run in real time has Mininet's own wires, and leaves no record"


@app.command("mininet", context_settings={"allow_interspersed_args": False})
@with_options(MininetOptions, without=["jobs"])
def run_script(
    script: Annotated[Path, typer.Argument(help="A Mininet script in Python, or a shell script.", metavar="SCRIPT")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="The arguments of the script: everything after its name.", metavar="ARGUMENT"),
    ] = None,
    *,
    context: typer.Context,
    options: MininetOptions,
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
    compare: Annotated[
        bool, typer.Option("--compare-wires", help="Run the script on both wires, and show what differs, with reasons.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a Mininet script, unchanged, in virtual time, and keep a record.

    The same script, arguments and seed give the same bytes on every machine. The script runs as root of a guest, with
    Open vSwitch, and needs no root here. From its own folder, it sees the modules that it imports and the files that
    it names.
    """
    from lab.app.options import named_clock
    from lab.ext.mininet import api, attending

    own = {name for each in context.command.params for name in each.opts}
    for option in late_options(script, arguments or (), own):
        output.say(f"{option} goes to {script}, which does not name it; put options of `lab mininet` before the script")
    if named_clock(clock) == "real":
        _refuse_record(REAL, options, as_json, compare)
        target = api.target_of(script, out)
        packed = api.packed_script(script, target, options, output.say)
        raise typer.Exit(attending.attend(packed, arguments or (), options, target))
    if compare:
        _compare(script, arguments or [], out, options, as_json)
    given = options.given(without=["jobs"])
    _show(api.mininet(script, *arguments or (), out=out, heard=_heard(as_json), warned=output.say, **given), as_json)


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
            help="The clock: real, or virtual (only with -c or --test). Default: virtual for a Mininet network "
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
        _refuse_record("a topology of the lab has the lab's wires, and leaves no record", options, as_json)
        raise typer.Exit(on_topology(topology, command, options, clock or "real", userland, shown))
    if userland != "sealed" or shown is not None:
        raise InputError("--userland and --with are for a TOPOLOGY of the lab; leave them out")
    if is_attended(options, command, clock):
        _refuse_record(REAL, options, as_json)
        raise typer.Exit(attend_mn(options, command, out))
    given = options.given(without=["jobs"])
    _show(api.mn(commands=command, out=out, heard=_heard(as_json), **given), as_json)


def late_options(script: Path, arguments: Sequence[str], own: Collection[str]) -> list[str]:
    """Return the arguments of a script that are options of `lab mininet` (`own`) and that the script does not name."""
    late = [word for word in (each.partition("=")[0] for each in arguments) if word in own and word.startswith("--")]
    text = script.read_text(errors="replace") if late and script.is_file() else None
    return [] if text is None else [word for word in late if word not in text]


def _heard(as_json: bool) -> Callable[[bytes], None]:
    """Return the function that prints a script's output as it arrives, unless JSON is wanted."""

    def heard(fresh: bytes) -> None:
        if not as_json:
            sys.stdout.write(printable(fresh.decode(errors="replace").replace("\r", "")))
            sys.stdout.flush()

    return heard


def _refuse_record(why: str, options: MininetOptions, as_json: bool, compare: bool = False) -> None:
    """Raise InputError for an option that only runs with a record have."""
    wanted = {
        "--exact": options.exact,
        "--compare-wires": compare,
        "--page": options.page is not None,
        "--no-capture": options.no_capture,
        "--json": as_json,
    }
    for option in (option for option, is_given in wanted.items() if is_given):
        raise InputError(f"{option}: {why}; leave the option out")


def _compare(script: Path, arguments: list[str], out: Path | None, options: MininetOptions, as_json: bool) -> None:
    """Run a script on both wires, print what differs, and exit with the runs' status."""
    from lab.ext.mininet import api

    if options.exact or options.page is not None:
        raise InputError("--compare-wires runs both wires; leave out --exact and --page, which are for one run")
    both = api.compare_wires(script, *arguments, out=out, warned=output.say, **options.given(without=["jobs"]))
    output.answer(both.plain(), lambda: _shown(both), as_json)
    for run in () if as_json else (both.mininet, both.exact):
        for line in filter(None, [run.sentence, *run.not_exact, run.instead]):
            output.say(line)
    raise typer.Exit(both.exit_code)


def _show(found: MininetRun, as_json: bool) -> None:
    """Print a run, and exit with its status."""
    if as_json:
        output.emit(found.plain())
    else:
        output.say(found.sentence)
        for line in filter(None, [*found.not_exact, found.instead]):
            output.say(line)
    raise typer.Exit(found.exit_code)


def _shown(both: WireComparison) -> str:
    """Return what differs between a script's two runs, and why, in 80 columns except for the script's own lines."""
    differences, flows = both.differences, both.flows
    rows = [
        f"{name:8} {printable(row)}".rstrip()
        for pair in differences[:MOST_LINES]
        for name, row in zip(("Mininet", "exact", "ratio"), pair.rows, strict=True)
        if row or name != "ratio"
    ] or ["The script printed the same on both wires."]
    if len(differences) > MOST_LINES:
        rows.append(f"... and {plural(len(differences) - MOST_LINES, 'line')} more; --json has all")
    if flows:
        rows += ["", f"{'Flow':21} {'Wires':7} {'Goodput':>13} {'Longest RTT':>12} {'In queues':>11} {'Resent':>7}"]
    for each in flows[:MOST_FLOWS]:
        for title, wires, found in ((each.name, "Mininet", each.mininet), ("", "exact", each.exact)):
            goodput, rtt, queued = (
                worded(None if number is None else Value(number, unit))
                for number, unit in ((found.goodput, "bit/s"), (found.longest_rtt, "s"), (found.longest_queue, "s"))
            )
            resent = DASH if found.retransmitted is None else found.retransmitted
            rows.append(f"{printable(title)[:21]:21} {wires:7} {goodput:>13} {rtt:>12} {queued:>11} {resent:>7}")
    if len(flows) > MOST_FLOWS:
        rows.append(f"... and {plural(len(flows) - MOST_FLOWS, 'flow')} more; --json has all")
    reasons = (re.sub(r"(?<=\d) (?=ms|s\b|%)", "\xa0", reason) for reason in both.reasons)  # no line breaks there
    why = [fill(reason, 80, initial_indent="- ", subsequent_indent="  ").replace("\xa0", " ") for reason in reasons]
    return "\n".join([*rows, "", "Why figures differ:", *why])
