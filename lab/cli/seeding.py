"""Show what `lab run --seeds` found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.report import text
from lab.report.text import COLOURS
from lab.usecases.seeding import Seeds

__all__ = ["remarks", "render"]


def render(found: Seeds) -> RenderableType:
    """Show each claim's verdicts with the seeds that gave them, and how many claims depend on the seed."""
    table = Table(box=None, pad_edge=False)
    for name in ("claim", "verdict", "seeds"):
        table.add_column(name)
    for claim in found.claims:
        for place, (kind, seeds) in enumerate(claim.verdicts.items()):
            table.add_row("" if place else claim.id, Text(kind, COLOURS[kind]), _ranges(seeds))
    depending = ", ".join(claim.id for claim in found.depending)
    claims, each = len(found.claims), len(found.seeds)
    head = f"{claims} claim{'' if claims == 1 else 's'} with {each} seed{'' if each == 1 else 's'}"
    said = f"the verdict depends on the seed in {depending}" if depending else "no verdict depends on the seed"
    return Group(table, Text(f"{head}: {said}", "bold"))


def remarks(found: Seeds) -> Iterator[str]:
    """Yield what verdicts do not say: with which seed a prediction is further off than it may be."""
    for claim in found.claims:
        for seed, judged in claim.judged.items():
            yield from (f"seed {seed}: {remark}" for remark in text.remarks(judged.result))


def _ranges(seeds: Sequence[int]) -> str:
    """Write numbers that ascend as '1-4, 6'."""
    runs = [[seed for _, seed in run] for _, run in groupby(enumerate(seeds), lambda each: each[1] - each[0])]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
