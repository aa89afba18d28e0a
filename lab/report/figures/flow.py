"""Draw a bulk transfer's goodput, windows and round trips over time, to show the bottleneck."""

from __future__ import annotations

import re

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from lab.errors import LabError
from lab.report.chart import Line, Panel, short
from lab.report.drawing import Label, axes, draw, heading, labels, picture
from lab.report.flow import SINCE, flow_of
from lab.report.html import Html
from lab.report.tested import TestedClaim

_COLOUR = re.compile(r"#[0-9a-f]{6}")  # matplotlib has no CSS variables; the page puts them back


@draw("the flow over time")
def flow(claim: TestedClaim, arm: str | None = None) -> Html:
    """Draw goodput, the bytes in flight with the windows that limit them, and round trips, one panel for each."""
    each = claim.arms(*([arm] if arm else []))[0]
    found = flow_of(each.record, each.capture) if each.record and each.capture else None
    if found is None:
        raise LabError("no capture has a flow of data")
    panels = found.panels()
    figure, drawn = axes(len(panels), size=(6.1, 1.7 * len(panels) + 0.4))
    for panel, target in zip(panels, drawn, strict=True):
        _draw(panel, target)
    drawn[-1].set(xlabel=SINCE, xlim=(0, found.seconds))
    caption = "What the flow carries, what bounds it, and how long its packets take."
    return picture(
        claim, f"flow.{each.case.arm}", figure, f"{each.label}. {found.said}", caption, [each], of_first=True
    )


def _draw(panel: Panel, target: Axes) -> None:
    for line in panel.lines:
        at, values = zip(*line.points, strict=True)
        if line.shape == "dots":
            target.plot(at, values, ".", color=_colour(line), markersize=3, label=line.name)
        else:
            target.step(at, values, where="post", color=_colour(line), linewidth=1.4, label=line.name)
    heading(target, panel.title)
    target.set_ylim(0, 1.06 * target.dataLim.y1)
    target.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    if len(panel.lines) > 1:
        labels(target, [Label(line.points[-1][1], line.name, _colour(line)) for line in panel.lines], room=0.15)


def _colour(line: Line) -> str:
    return str(_COLOUR.findall(line.colour)[0])
