"""Show the lines of the peers: as a table in the terminal, and as a table and a figure in docs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from bench.peers import own
from bench.peers.peer import Row
from bench.peers.transfer import FRAME, Transfer, named

HEADS = ("peer", "version", "root", "CPU, s", "error", "identical", "remarks")


def shown(rows: Sequence[Row], transfer: Transfer) -> Table:
    """Return the table of one transfer, for a terminal of 80 columns."""
    made = Table(*HEADS, box=None, padding=(0, 2, 0, 0), title=f"\n{transfer.title}: CPU of all processes")
    made.title_justify = "left"
    for row in rows:
        if row.transfer == transfer:
            made.add_row(*_cells(row))
    return made


def markdown(rows: Sequence[Row]) -> str:
    """Return one table of all transfers."""
    lines = [f"| transfer | {' | '.join(HEADS)} |", "|---" * (len(HEADS) + 1) + "|"]
    lines += [f"| {row.transfer.title} | {' | '.join(_cells(row))} |" for row in rows]
    return "\n".join(lines)


def _cells(row: Row) -> list[str]:
    cpu = f"{median(row.cpu):.1f}" if row.cpu else "-"
    if len(row.cpu) > 1:
        cpu += f" ({min(row.cpu):.1f} to {max(row.cpu):.1f})"
    error = "-" if row.error is None else f"{100 * row.error:+.2f} %"
    identical = {True: "yes", False: "no", None: "-"}[row.identical]
    return [row.peer, row.version or "-", "yes" if row.root else "no", cpu, error, identical, "; ".join(row.remarks)]


def plain(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the lines for a JSON file."""
    return [{**asdict(row), "transfer": row.transfer.name} for row in rows]


def rows_of(kept: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the lines that `plain` wrote."""
    return [
        Row(**{**row, "transfer": named(row["transfer"]), "cpu": tuple(row["cpu"]), "remarks": tuple(row["remarks"])})
        for row in kept
    ]


def limit_of(transfer: Transfer, per_frame: float) -> float:
    """Return the seconds of CPU that a transfer's frames cost in the native kernel."""
    return transfer.gigabits * 1e9 * transfer.seconds / 8 / FRAME * per_frame


def draw(rows: Sequence[Row], per_frame: float, path: Path) -> None:
    """Draw the seconds of all lines that have some as an SVG. The same figures give the same bytes."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot
    from matplotlib.ticker import FormatStrFormatter, NullFormatter

    transfers = list(dict.fromkeys(row.transfer for row in rows))
    title = "CPU time of the same transfer in the lab and its peers"
    with mpl.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": "peers", "font.size": 11, "font.family": "sans-serif"}
    ):
        figure, panels = pyplot.subplots(1, len(transfers), figsize=(9, 3.2), layout="constrained", squeeze=False)
        for axes, transfer in zip(panels[0], transfers, strict=True):
            bars = [row for row in rows if row.transfer == transfer and row.cpu][::-1]
            least = limit_of(transfer, per_frame)
            for place, row in enumerate(bars):
                color = "#0072b2" if row.peer == own.NAME else "#555555"
                axes.plot(median(row.cpu), place, marker="o", color=color)
                axes.annotate(
                    f"{median(row.cpu):.3g}", (median(row.cpu), place), textcoords="offset points", xytext=(7, -4)
                )
            axes.set_yticks(range(len(bars)), [row.peer for row in bars])
            axes.axvline(least, color="#d55e00", linestyle="--")
            axes.set_title(f"dashed: the native kernel's frames, {least:.2g} s", color="#d55e00", fontsize=10)
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.grid(visible=True, axis="x", alpha=0.3)
            axes.margins(x=0.2, y=0.3)
            axes.set_xlabel(f"seconds of CPU, {transfer.title}")
        figure.savefig(path, format="svg", metadata={"Date": None, "Title": title})
        pyplot.close(figure)
