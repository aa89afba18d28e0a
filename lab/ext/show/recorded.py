"""Show single records in the terminal: what ran, how it ended, its output, its files, and how to verify it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.report.wording import plural

LAST_LINES, MOST_FILES = 20, 20
DIGITS = 12  # of an address


def render(runs: Sequence[dict[str, Any]]) -> RenderableType:
    """Return one record with its output and its files, or a list of several records."""
    return Group(*(_one(runs[0]) if len(runs) == 1 else _several(runs)))


def _one(run: dict[str, Any]) -> Iterator[RenderableType]:
    name = " ".join(part for part in (run["claim"], run["arm"], run["point"]) if part)
    yield Text.assemble((name, "bold"), f"  {run['outcome'] or ''}".rstrip())
    if run["command"]:
        yield Text(run["command"], "cyan")
    yield Text(f"kernel {run['kernel']}, {run['clock']} time, seed {run['seed']}, {run['started']}", "dim")
    for reason in run["invalid"]:
        yield Text(f"invalid: {reason}", "red")
    if lines := run["output"].splitlines():
        part = f" (last {LAST_LINES} of {len(lines)} lines; all with --json)" if len(lines) > LAST_LINES else ""
        yield Text(f"\nOutput{part}", "bold")
        yield Text("\n".join(lines[-LAST_LINES:]))
    if run["files"]:
        yield Text("\nFiles", "bold")
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
        table.add_column(overflow="fold")
        table.add_column(justify="right", no_wrap=True)
        for file in run["files"][:MOST_FILES]:
            table.add_row(file["file"], f"{file['bytes']:,} B")
        yield table
        if len(run["files"]) > MOST_FILES:
            yield Text(f"and {len(run['files']) - MOST_FILES} more")
    yield Text("\nRecord", "bold")
    yield Text(run["folder"], overflow="fold")
    yield Text(f"`lab verify --only {run['trial'][:DIGITS]}` runs it again, and compares every byte")


def _several(runs: Sequence[dict[str, Any]]) -> Iterator[RenderableType]:
    table = Table(title=plural(len(runs), "record"), box=None, show_header=False, pad_edge=False, padding=(0, 1))
    table.title_justify, table.title_style = "left", "bold"
    table.add_column(no_wrap=True, style="bold")
    for run in runs:
        table.add_row(run["trial"][:DIGITS], run["run"], run["outcome"] or "")
    yield table
    yield Text("\n`lab show TRIAL` shows one of them; `lab verify --only TRIAL` runs it again, and compares every byte")
