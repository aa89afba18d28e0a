"""Show the results of packetdrill scripts: failures, with expected and actual packets, and the number of passed
scripts.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.ext.suites.packetdrill.running import ScriptRuns
from lab.ext.suites.script import JudgedRun, JudgedScript, Shift
from lab.report.wording import plural

LAST = 6  # packets that are shown before the wrong one


def render(found: ScriptRuns) -> RenderableType:
    """Return a block for each script that failed, a block for each difference from another kernel, and the counts."""
    blocks = [block for script in found.scripts for block in _failures(script)]
    return Group(*blocks, *(_shift(found, shift) for shift in found.shifts), Text(_sentence(found), "bold"))


def _sentence(found: ScriptRuns) -> str:
    """Return a sentence with the number of scripts that passed, and the number that passed to the microsecond."""
    runs = sum(len(script.runs) for script in found.scripts)
    passed = [script for script in found.scripts if script.passed]
    exact = sum(script.exact for script in passed)
    ran = f"{plural(len(found.scripts), 'script')} in {plural(runs, 'run')} on {found.kernel}"
    said = f"{ran}: {len(passed)} passed, {exact} to 1 us"
    if found.base:
        changed = len({shift.script for shift in found.shifts})
        said += f"; {changed} differ from {found.base}"
    return said


def _failures(script: JudgedScript) -> Iterator[RenderableType]:
    if script.error:
        yield Text.assemble((f"{script.name}\n", "bold"), f"  {script.error}\n")
    for run in script.runs:
        if run.complaint:
            yield _failure(script, run)


def _failure(script: JudgedScript, run: JudgedRun) -> RenderableType:
    complaint = run.complaint
    assert complaint is not None
    at = f"{script.name}.pkt" + (f":{complaint.line}" if complaint.line else "")
    title = Text.assemble((at, "bold"), f"  {run.run.version}\n  {complaint.message}")
    if not complaint.expected:
        return Group(title, Text())
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    table.add_column("expected", overflow="fold")
    table.add_column("seen", overflow="fold")
    for packet in run.run.packets[-LAST:-1]:
        table.add_row("", Text(packet, "dim"))
    table.add_row(Text(complaint.expected, "green"), Text(complaint.seen or "nothing", "red"))
    return Group(title, table, Text())


def _shift(found: ScriptRuns, shift: Shift) -> RenderableType:
    at = f"{shift.script}.pkt" + (f":{shift.line}" if shift.line else "")
    width = max(len(found.base), len(found.kernel))
    lines = f"\n  {found.base:{width}}  {shift.base}\n  {found.kernel:{width}}  {shift.new}\n"
    return Text.assemble((at, "bold"), f"  {shift.version}", lines)
