"""Show the results of `lab run --seeds`."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.app.seeding import Seeds
from lab.report import text
from lab.report.text import COLOURS
from lab.report.wording import dependence, plural, ranges


def render(found: Seeds) -> RenderableType:
    """Return each claim's verdicts with their seeds and the number of claims that depend on the seed."""
    table = Table(box=None, pad_edge=False)
    for name in ("claim", "verdict", "seeds"):
        table.add_column(name)
    for claim in found.claims:
        for place, (kind, seeds) in enumerate(claim.verdicts.items()):
            table.add_row("" if place else claim.id, Text(kind, COLOURS[kind]), ranges(seeds))
    depending = ", ".join(f"{claim.id}{' (as declared)' * claim.is_declared}" for claim in found.depending)
    claims, each = len(found.claims), len(found.seeds)
    head = f"{plural(claims, 'claim')} with {plural(each, 'seed')}"
    decided = depending and f"the verdict depends on the seed in {depending}"
    said = dependence("the seed", decided, (claim.verdicts for claim in found.claims))
    return Group(table, Text(f"{head}: {said}", "bold"))


def remarks(found: Seeds) -> Iterator[str]:
    """Yield remarks about seeds with which a prediction misses its accuracy."""
    for claim in found.claims:
        for seed, judged in claim.judged.items():
            yield from (f"seed {seed}: {remark}" for remark in text.remarks(judged))
