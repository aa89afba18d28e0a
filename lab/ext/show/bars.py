"""Draw a claim's figures as bars of characters, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lab.report import wording
from lab.report.tested import TestedCase, TestedClaim
from lab.spec.metric import described

if TYPE_CHECKING:
    from rich.console import RenderableType

_LENGTH = 32  # characters of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"
_CLAIMED = "┃"  # where the claim's figure is
_ZERO = "○"  # where a bar has no length


def bars(claim: TestedClaim) -> RenderableType:
    """Return a bar for each case with a figure. A stroke marks the claim's figure.

    Figures of different metrics or units form separate groups, each with its own scale. A figure that is alone in its
    group has no bar.
    """
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
    shown.add_column(max_width=30)
    shown.add_column(no_wrap=True)
    shown.add_column(justify="right", no_wrap=True)
    last, marked = None, False
    for each, longest in _scaled(claim):
        measured = each.result.measured
        assert measured is not None
        if last != _scale(each):
            if last is not None:
                shown.add_row()
            if each.case.figure:
                shown.add_row(Text(each.case.figure, "bold"))
        last = _scale(each)
        drawn = Text(_bar(measured.number / longest) if longest else "", style="blue")
        if each.claimed and longest and 0 <= each.claimed.number <= longest:
            place = min(round(_LENGTH * each.claimed.number / longest), _LENGTH - 1)
            over = 1 if drawn.plain[place] != _ZERO else 0  # so that both marks show if both are zero
            drawn = Text.assemble(drawn[:place], (_CLAIMED, "magenta"), drawn[place + over :])
            drawn.truncate(_LENGTH)
        shown.add_row(each.label, drawn, wording.factor(each.result, wording.figure(measured)))
        marked = marked or _CLAIMED in drawn.plain
    if marked:
        shown.add_row("", Text(f"{_CLAIMED} claimed", "magenta"))
    return shown


def _scaled(claim: TestedClaim) -> Iterator[tuple[TestedCase, float]]:
    """Yield each case with a figure, grouped by scale, with the group's largest figure, or 0 for a single figure."""
    having = [each for each in claim.tested if each.result.measured and each.result.measured.number >= 0]
    for scale in dict.fromkeys(map(_scale, having)):
        same = [each for each in having if _scale(each) == scale]
        figures = [value.number for each in same for value in (each.result.measured, each.claimed) if value]
        for each in same:
            yield each, (max(figures) or 1.0) if len(figures) > 1 else 0.0


def _scale(each: TestedCase) -> tuple[str, str | None, str]:
    """Return the metric, the unit and the figure's name. Bars compare only figures for which all three are equal."""
    return described(each.case.metric).innermost.name, each.result.unit, each.case.figure


def _bar(share: float) -> str:
    if not share:
        return _ZERO.ljust(_LENGTH)
    eighths = round(8 * _LENGTH * share)
    text = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
    return text.ljust(_LENGTH)
