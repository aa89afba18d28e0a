"""Show the verdicts of `lab run` on several kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lab.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lab.report.ci.case import Case
    from lab.report.claim import Claim
    from lab.report.claims import Claims
    from lab.verdict import Kind

_Found = Mapping[str, "Claims"]  # kernel -> claims


def named(kernels: str | None) -> Sequence[str]:
    """Return the kernels that the option 'A,B,C' names. Raises InputError if a name is empty."""
    names = [name.strip() for name in (kernels or "").split(",")] if kernels is not None else []
    if not all(names):
        raise InputError(f"--kernel {kernels} has an empty name; write names with a comma between them, like 6.12,7.2")
    return names


def render(found: _Found) -> RenderableType:
    """Return each claim's verdict on each kernel and the number of claims whose verdicts differ."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from lab.report.text import COLOURS
    from lab.report.wording import dependence, plural
    from lab.verdict import depends

    table = Table(box=None, pad_edge=False)
    for name in ("claim", *found):
        table.add_column(name)
    rows = list(zip(*found.values(), strict=True))
    for row in rows:
        table.add_row(row[0].id, *(Text(kind, COLOURS[kind]) for kind in _kinds(row)))
    differing = ", ".join(row[0].id for row in rows if depends(_kinds(row)))
    said = dependence("the kernel", differing and f"the kernel decides in {differing}", map(_kinds, rows))
    return Group(table, Text(f"{plural(len(rows), 'claim')} on {len(found)} kernels: {said}", "bold"))


def _kinds(row: Iterable[Claim]) -> list[Kind]:
    return [claim.verdict.kind for claim in row]


def plain(found: _Found) -> dict[str, Any]:
    """Return all claims for JSON, each with its kernel."""
    return {"claims": [claim for claims in found.values() for claim in claims.plain()["claims"]]}


def remarks(found: _Found) -> Iterator[str]:
    """Yield remarks about kernels on which a prediction misses its accuracy."""
    from lab.report import text

    for kernel, claims in found.items():
        yield from (f"{kernel}: {remark}" for claim in claims for remark in text.remarks(claim.judged))


def cases(found: _Found) -> tuple[Case, ...]:
    """Return a case for each claim on each kernel."""
    from lab.report import cases as reporting

    return tuple(
        replace(case, name=f"{case.name} on {kernel}")
        for kernel, claims in found.items()
        for case in reporting.cases(claims)
    )


def exit_code(found: _Found) -> int:
    """Return the worst exit code of all kernels."""
    return max(claims.exit_code for claims in found.values())
