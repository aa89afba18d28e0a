"""Show a claim in the terminal: the answer, the figures, the reason, a small plot, and the packets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from lab.api import stored
from lab.report import bars, text
from lab.viewer import show_packets

if TYPE_CHECKING:
    from lab.report.claim import Claim
    from lab.report.claims import Claims

__all__ = ["packets", "render"]


def render(claims: Claims) -> RenderableType:
    """Return the claims, one below the other; those of a whole article after what was found in it."""
    return Group(*_parts(claims))


def _parts(claims: Claims) -> Iterator[RenderableType]:
    article = claims[0].judged.declared.article
    if len(claims) > 1 and article.headline:
        yield Text(article.headline, style="bold")
        yield Padding(text.marked(article.answer), (0, 0, 1, 0))
    for claim in claims:
        yield from _claim(claim)


def _claim(claim: Claim) -> Iterator[RenderableType]:
    yield text.marked(claim.judged.declared.claim, "bold")
    yield _why(claim) if claim.verdict.kind != "skipped" else Text("")
    if claim.kernels:
        yield Text(text.unmarked(claim.kernels.text))
    yield Text("")
    yield text.block(claim.judged.result)
    yield bars.bars(claim)


def _why(claim: Claim) -> Text:
    """Return what decides the verdict, or explains it; how far an explanation goes stands before the colon."""
    said = text.unmarked(claim.why)
    if claim.grade and said.startswith(f"{claim.grade} "):
        return Text.assemble((f"Why ({claim.grade}): ", "bold"), said.removeprefix(f"{claim.grade} "))
    return Text.assemble(("Why: ", "bold"), said)


def packets(claim: str, arm: str | None, results: Path) -> int:
    """Show the capture of an arm, the first one that has any unless named; return the program's exit status.

    Raises InputError when no trial of it left a capture, MachineError without a program that shows one.
    """
    return show_packets(stored.capture_file(claim, arm, results))
