"""Write a report's pages for all Mininet scripts that have records in a store."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from html import escape
from pathlib import Path

from lab.errors import LabError
from lab.ext.mininet.recorded import command_of, outcome_of
from lab.ext.mininet.running import CLAIMS
from lab.record.record import Record
from lab.record.store import Store
from lab.report import html

FOLDER = "mininet"  # of a report
LIKELY = 12  # digits of an address in a page's name


def write_all(store: Store, folder: Path) -> str:
    """Write a page below `folder` for each record of a script. Return the report's section that links to the pages.

    Unreadable records are left out. Raises OSError.
    """
    found = [(command, row) for record in store for command, row in _written(record, folder / FOLDER)]
    if not found:
        return ""
    table = html.table(["Script", "Kernel", "Seed", "Outcome"], [row for _, row in sorted(found)])
    return f"{html.heading('scripts', 'Mininet scripts', 'Scripts')}\n{table}\n"


def _written(record: Record, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Write the page of a script's record, and yield the script's command and its row of the table."""
    try:
        if not record.trial.claim.startswith(CLAIMS):
            return
        words = command_of(record).words
        ways = f'<a href="../index.html">All articles</a><span>{escape(words[0])}</span>'
        from lab.ext.mininet import page  # only reports with scripts need its drawing code

        text, ended = page.render(record, ways), outcome_of(record)
    except LabError:
        return
    folder.mkdir(exist_ok=True)
    name = f"{record.address[:LIKELY]}.html"
    (folder / name).write_text(text, encoding="utf-8")
    kernel = record.trial.kernel
    link = f'<a href="{FOLDER}/{name}">{html.code(shlex.join(words))}</a>'
    row = [link, escape(str(kernel.get("name", kernel["version"]))), str(record.trial.seed), escape(ended)]
    yield shlex.join(words), row
