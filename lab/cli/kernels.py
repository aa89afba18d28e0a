"""Show what was found on several kernels: by `lab run` a verdict for each, by `lab atlas` what changed.

`lab run` asks this what --kernel names: what only one of the others takes is imported there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lab.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from lab.ci.case import Case
    from lab.comparison.atlas import Atlas
    from lab.report.claims import Claims

__all__ = ["atlas", "cases", "exit_code", "named", "plain", "remarks", "render"]

Found = Mapping[str, "Claims"]  # by kernel


def named(kernels: str | None) -> Sequence[str]:
    """Return the kernels that an option names, 'A,B,C'. Raises InputError when a name is empty."""
    names = [name.strip() for name in (kernels or "").split(",")] if kernels is not None else []
    if not all(names):
        raise InputError(f"--kernel {kernels}: write names with a comma between them, as 6.12,7.2")
    return names


def render(found: Found) -> RenderableType:
    """Show each claim's verdict on each kernel, and how many claims have several."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from lab.report.text import COLOURS

    table = Table(box=None, pad_edge=False)
    for name in ("claim", *found):
        table.add_column(name)
    rows = list(zip(*found.values(), strict=True))
    for row in rows:
        kinds = [claim.verdict.kind for claim in row]
        table.add_row(row[0].id, *(Text(kind, COLOURS[kind]) for kind in kinds))
    differing = [row[0].id for row in rows if len({claim.verdict.kind for claim in row}) > 1]
    said = f"the kernel decides in {', '.join(differing)}" if differing else "no verdict depends on the kernel"
    count = f"{len(rows)} claim{'' if len(rows) == 1 else 's'} on {len(found)} kernels"
    return Group(table, Text(f"{count}: {said}", "bold"))


def plain(found: Found) -> dict[str, Any]:
    """Return all claims for JSON, each with its kernel."""
    return {"claims": [claim for claims in found.values() for claim in claims.plain()["claims"]]}


def remarks(found: Found) -> Iterator[str]:
    """Yield what verdicts do not say: on which kernel a prediction is further off than it may be."""
    from lab.report import text

    for kernel, claims in found.items():
        yield from (f"{kernel}: {remark}" for claim in claims for remark in text.remarks(claim.judged.result))


def cases(found: Found) -> tuple[Case, ...]:
    """Return a case for each claim on each kernel."""
    from lab.report import cases as reporting

    return tuple(
        replace(case, name=f"{case.name} on {kernel}")
        for kernel, claims in found.items()
        for case in reporting.cases(claims)
    )


def atlas(found: Atlas, folder: Path) -> RenderableType:
    """Show an atlas: which known changes it shows, what each step has, and where its pages are."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from lab.comparison.summary import sentence

    plain = found.plain()
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
    for known in plain["changes"]:
        table.add_row(known["title"], known["shown"])
    steps = [f"{step.title}: {sentence(step.changes)}" for step in found.steps]
    return Group(table, *map(Text, steps), Text(f"Atlas: {(folder / 'index.html').resolve().as_uri()}", "bold"))


def exit_code(found: Found) -> int:
    """Return the worst exit code of all kernels."""
    return max(claims.exit_code for claims in found.values())
