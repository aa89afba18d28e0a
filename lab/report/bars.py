"""Draw a claim's figures as bars of letters, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lab.report import html
from lab.report.tested import TestedCase, TestedClaim

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["bars"]

_LENGTH = 32  # letters of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"
_CLAIMED = "┃"  # where the claim's figure is
_ZERO = "○"  # where a bar has no length


def bars(claim: TestedClaim) -> RenderableType:
    """Return a bar for each case with a figure, as long as that; a stroke marks the claim's.

    Each unit has a scale of its own.
    """
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
    shown.add_column(max_width=30)
    shown.add_column(no_wrap=True)
    shown.add_column(justify="right", no_wrap=True)
    for each, longest in _scaled(claim):
        measured = each.result.measured
        assert measured is not None
        drawn = Text(_bar(measured.number / longest), style="blue")
        if each.claimed and 0 <= each.claimed.number <= longest:
            place = min(round(_LENGTH * each.claimed.number / longest), _LENGTH - 1)
            over = 1 if drawn.plain[place] != _ZERO else 0  # both are seen where both are zero
            drawn = Text.assemble(drawn[:place], (_CLAIMED, "magenta"), drawn[place + over :])
            drawn.truncate(_LENGTH)
        shown.add_row(each.label, drawn, html.figure(measured))
    return shown


def _scaled(claim: TestedClaim) -> Iterator[tuple[TestedCase, float]]:
    """Yield each case that has a figure, with the largest figure of its unit, claimed or measured."""
    having = [each for each in claim.tested if each.result.measured and each.result.measured.number >= 0]
    for each in having:
        same = [other for other in having if other.result.unit == each.result.unit]
        figures = [value.number for other in same for value in (other.result.measured, other.claimed) if value]
        yield each, max(figures) or 1.0


def _bar(share: float) -> str:
    if not share:
        return _ZERO.ljust(_LENGTH)
    eighths = round(8 * _LENGTH * share)
    text = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
    return text.ljust(_LENGTH)
