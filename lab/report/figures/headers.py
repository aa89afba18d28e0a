"""Count headers of data segments by length."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from lab.report.drawing import ARMS, PREDICTED, REPORTED, SMALL, axes, draw, picture
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim

__all__ = ["header_lengths"]

_LENGTHS = range(20, 61, 4)  # bytes: all that TCP's data offset can say


@draw("header lengths")
def header_lengths(claim: TestedClaim) -> Html:
    """Draw the number of data segments per length of their TCP header, one panel per arm."""
    shown = claim.run
    figure, panels = axes(len(shown), size=(6.1, 1.6 * len(shown) + 0.4), sharey=True)
    most = max(each.traffic.segments for each in shown)
    for each, panel, colour in zip(shown, panels, ARMS, strict=False):
        counts = each.traffic.header_lengths
        panel.bar(list(counts), list(counts.values()), width=2.4, color=colour)
        for length, count in counts.items():
            panel.annotate(f"{count:,} segments", (length + 1.6, count / 2), color=colour, va="center")
        _mark(panel, each, most)
        panel.set(xlim=(17, 62), ylim=(0, 1.5 * most), ylabel="segments")
        panel.set_title(_setting(claim, each), loc="left", fontsize=SMALL)
        panel.yaxis.set_major_formatter(EngFormatter(sep=""))
    panels[-1].set_xlabel("TCP header of a data segment, bytes")
    panels[-1].set_xticks(_LENGTHS)
    alt = "; ".join(f"{each.label}: segments by header bytes {dict(each.traffic.header_lengths)}" for each in shown)
    caption = "Data segments by the length of their TCP header. All are counted, not a sample."
    return picture(claim, "header-lengths", figure, alt, caption, shown)


def _mark(panel: Axes, each: TestedCase, top: float) -> None:
    """Mark where prediction and article put the bar, as far as the claim is about lengths."""
    for value, name, colour, height in (
        (each.result.predicted, "predicted", PREDICTED, 1.14 * top),
        (each.claimed, each.whose, REPORTED, 1.36 * top),
    ):
        if value and value.unit == "B":
            panel.plot([value.number], [height], marker="v", color=colour, markersize=5, clip_on=False)
            text = f"{name} {value.number:g} B"
            panel.annotate(text, (value.number + 1.6, height), color=colour, va="center", annotation_clip=False)


def _setting(claim: TestedClaim, each: TestedCase) -> str:
    """Return what the arm sets, or its name if it sets nothing."""
    arm = next(arm for arm in claim.judged.declared.experiment.arms if arm.name == each.case.arm)
    return ", ".join(f"{name} = {value}" for name, value in arm.sysctls.items()) or each.label
