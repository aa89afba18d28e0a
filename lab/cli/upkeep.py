"""Show what `lab store` found."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.usecases.packing import Repacked
from lab.usecases.room import amount
from lab.usecases.upkeep import Checkup, Collection, Usage

__all__ = ["render_checkup", "render_collection", "render_repacked", "render_usage"]


def render_usage(found: Usage) -> RenderableType:
    """Show a table by claim, one by kind, and a sentence on the whole."""
    claims = _table("claim", "records", "files", "size")
    for claim, (files, taken) in found.claims.items():
        claims.add_row(claim, str(found.records[claim]), str(files), amount(taken))
    kinds = _table("files", "number", "size")
    for kind, (files, taken) in found.kinds.items():
        kinds.add_row(kind, str(files), amount(taken))
    whole = Text(f"{found.store}: {_counted(sum(found.records.values()), 'record')}, {amount(found.bytes)}", "bold")
    return Group(claims, Text(), kinds, Text(), whole) if found.records else whole


def render_collection(found: Collection) -> RenderableType:
    """Show the records that go, or would, by claim and reason, and a sentence on the whole."""
    table = _table("claim", "records", "size")
    table.add_column("because")
    groups = Counter((each.record.trial.claim, each.because) for each in found.doomed)
    taken: Counter[tuple[str, str]] = Counter()
    for each in found.doomed:
        taken[each.record.trial.claim, each.because] += each.bytes
    for (claim, because), count in sorted(groups.items()):
        table.add_row(claim, str(count), amount(taken[claim, because]), because)
    does = "removed" if found.removed else "may go"
    said = f"{_counted(len(found.doomed), 'record')} {does}, {amount(found.bytes)}; {found.stay} stay"
    if found.doomed and not found.removed:
        said += "; --yes removes them"
    return Group(*([table] if found.doomed else []), Text(said, "bold"))


def render_repacked(found: Repacked) -> str:
    """Show a line for each file that is refused, and one on the whole."""
    done = "packed" if found.form == "packed" else "unpacked"
    said = f"{_counted(found.files, 'file')} {done}: {amount(found.before)} before, {amount(found.after)} after"
    if found.elsewhere:
        said += f"; {_counted(found.elsewhere, 'file')} not: another store has the same file, so that it frees nothing"
    return "\n".join([*(f"{each}: it stays as it is" for each in found.refused), said])


def render_checkup(found: Checkup) -> str:
    """Show a line for each file that is wrong, and one on the whole."""
    lines = [f"{found.store}/{folder}: {fault}" for folder, fault in found.faults]
    wrong = len({folder for folder, _ in found.faults})
    said = f"{_counted(found.records, 'record')} hashed again: " + (f"{wrong} wrong" if wrong else "all whole")
    if found.removed:
        said += f", {len(found.removed)} removed: `lab run` makes them again"
    return "\n".join([*lines, said])


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first)
    for head in others:
        table.add_column(head, justify="right")
    return table


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
