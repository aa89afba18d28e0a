"""Show the results of `lab store`."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.app.room import amount
from lab.ext.upkeep.packing import Repacked
from lab.ext.upkeep.upkeep import Checkup, Collection, Usage
from lab.report.wording import plural


def render_usage(found: Usage) -> RenderableType:
    """Return a table by claim, a table by kind of file, and a sentence about the whole store."""
    claims = _table("claim", "records", "files", "size")
    for claim, (files, taken) in found.claims.items():
        claims.add_row(claim, str(found.records[claim]), str(files), amount(taken))
    kinds = _table("files", "number", "size")
    for kind, (files, taken) in found.kinds.items():
        kinds.add_row(kind, str(files), amount(taken))
    whole = Text(f"{found.store}: {plural(sum(found.records.values()), 'record')}, {amount(found.bytes)}", "bold")
    return Group(claims, Text(), kinds, Text(), whole) if found.records else whole


def render_collection(found: Collection) -> RenderableType:
    """Return the records that were or would be removed, by claim and reason, and a summary."""
    table = _table("claim", "records", "size")
    table.add_column("because")
    groups = Counter((each.record.trial.claim, each.because) for each in found.doomed)
    taken: Counter[tuple[str, str]] = Counter()
    for each in found.doomed:
        taken[each.record.trial.claim, each.because] += each.bytes
    for (claim, because), count in sorted(groups.items()):
        table.add_row(claim, str(count), amount(taken[claim, because]), because)
    does = "removed" if found.removed else "may go"
    said = f"{plural(len(found.doomed), 'record')} {does}, {amount(found.bytes)}; {found.stay} stay"
    if found.doomed and not found.removed:
        said += "; --yes removes them"
    return Group(*([table] if found.doomed else []), Text(said, "bold"))


def render_repacked(found: Repacked) -> str:
    """Return a line for each refused file and a summary line."""
    done = "packed" if found.form == "packed" else "unpacked"
    said = f"{plural(found.files, 'file')} {done}: {amount(found.before)} before, {amount(found.after)} after"
    if found.elsewhere:
        said += f"; {plural(found.elsewhere, 'file')} not: another store has the same file, so packing frees nothing"
    return "\n".join([*(f"{each}: it stays unchanged" for each in found.refused), said])


def render_checkup(found: Checkup) -> str:
    """Return a line for each damaged file and a summary line."""
    lines = [f"{found.store}/{folder}: {fault}" for folder, fault in found.faults]
    wrong = len({folder for folder, _ in found.faults})
    said = f"{plural(found.records, 'record')} hashed again: " + (f"{wrong} wrong" if wrong else "all whole")
    if found.removed:
        said += f", {len(found.removed)} removed; `lab run` makes them again"
    return "\n".join([*lines, said])


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first)
    for head in others:
        table.add_column(head, justify="right")
    return table
