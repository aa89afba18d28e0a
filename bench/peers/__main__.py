"""Run the same transfers in the lab and its peers, and print a table: `python -m bench.peers [PEER...]`.

`--into` keeps the figures in a file, and `--draw` writes them into the page beside that file, as a table and a figure.
The lab runs on one CPU, its peers on all. A missing peer has a line that shows how to install it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from rich.console import Console

from bench.peers import measuring, own, table
from lab.errors import LabError

SCRATCH = Path("build")  # not /tmp: a peer has its own
BEGIN, END = "<!-- make bench -->\n", "<!-- end -->\n"


def main() -> int:
    """Do what the command line asks for."""
    names = [own.NAME, *(peer.name for peer in measuring.PEERS)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="PEER", help=f"default: all of {', '.join(names)}")
    parser.add_argument("--runs", type=int, default=measuring.RUNS)
    parser.add_argument("--into", type=Path, metavar="FILE.json", help="keep the figures beside those that are there")
    parser.add_argument(
        "--draw", type=Path, metavar="FILE.json", help="write the table and the figure of these into docs"
    )
    given = parser.parse_args()
    if unknown := [each for each in given.names if each not in names]:
        parser.error(f"no peer is named {unknown[0]!r}; there are {', '.join(names)}")
    try:
        if given.draw:
            drawn(given.draw)
        else:
            measure(given.names, given.runs, given.into)
    except LabError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def measure(names: list[str], runs: int, into: Path | None) -> None:
    """Measure, print, and keep the figures in a file, where they replace those of the same peers."""
    SCRATCH.mkdir(exist_ok=True)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory(prefix="peers-", dir=SCRATCH) as scratch:
        rows, limit = measuring.show(Path(scratch), Console(highlight=False), names, runs)
    if into:
        kept = json.loads(into.read_text()) if into.exists() else {"rows": []}
        renewed = {(row.peer, row.transfer.name) for row in rows}
        others = [each for each in kept["rows"] if (each["peer"], each["transfer"]) not in renewed]
        into.write_text(json.dumps({"limit": limit, "rows": [*others, *table.plain(rows)]}, indent=1) + "\n")


def drawn(file: Path) -> None:
    """Write the table into the page beside the file of figures, and the figure."""
    kept = json.loads(file.read_text())
    rows, page = table.rows_of(kept["rows"]), file.with_suffix(".md")
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table.markdown(rows)}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    table.draw(rows, median(kept["limit"]), file.with_suffix(".svg"))


if __name__ == "__main__":
    sys.exit(main())
