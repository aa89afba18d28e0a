"""Define the command `lab mininet`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from lab.app.options import SuiteOptions
from lab.base.foreign import printable
from lab.cli import output
from lab.cli.options import with_options
from lab.cli.output import Json
from lab.errors import InputError
from lab.report.wording import DASH, plural
from lab.report.wording import figure as worded
from lab.spec.errors import no_file
from lab.units import Value

if TYPE_CHECKING:
    from lab.ext.mininet.comparing import WireComparison

app = typer.Typer()
MOST_LINES, MOST_FLOWS = 30, 8  # of a comparison


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
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Copy the files that the script writes to this folder. Default: the script's name without its ending.",
            metavar="DIR",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--page",
            help="Also write an HTML page about the run: network, output, files and traffic.",
            metavar="FILE",
            dir_okay=False,
        ),
    ] = None,
    no_capture: Annotated[
        bool, typer.Option("--no-capture", help="Do not capture the packets of the script's hosts.")
    ] = False,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Give the script the lab's wires, which carry frames, instead of Mininet's."),
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare-wires", help="Run the script on both wires, and show what differs, with reasons.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a Mininet script, unchanged, in virtual time, and keep a record.

    The same script, arguments and seed give the same bytes on every machine. The script runs as root of a guest, with
    Open vSwitch, and needs no root here. It sees the modules that it imports from its folder, and the files there that
    it names.
    """
    from lab.ext.mininet import api

    if not script.is_file():  # before a kernel is built for it
        raise InputError(no_file(script))

    def heard(fresh: bytes) -> None:
        if not as_json:
            sys.stdout.write(printable(fresh.decode(errors="replace").replace("\r", "")))
            sys.stdout.flush()

    given = options.given(without=["jobs"])
    if compare:
        if page is not None:
            raise InputError("--page shows one run: leave out --compare-wires, and add --exact for exact wires")
        both = api.compare_wires(script, *arguments or (), out=out, capture=not no_capture, **given)
        output.answer(both.plain(), lambda: _shown(both), as_json)
        for run in () if as_json else (both.mininet, both.exact):
            for line in filter(None, [run.sentence, *run.not_exact, run.instead]):
                output.say(line)
        raise typer.Exit(both.exit_code)
    found = api.mininet(
        script, *arguments or (), out=out, exact=exact, heard=heard, capture=not no_capture, page=page, **given
    )
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
