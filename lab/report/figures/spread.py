"""Draw measurements: the figure of each seed, the mean or median with its interval, and the prediction."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from lab.report import wording
from lab.report.drawing import ARMS, DASHED, INK, PREDICTED, Label, axes, draw, labels, picture
from lab.report.figures.scale import draw_sample, scale_of
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim

_TICKS = 5
_ROW, _HEAD, _SWEPT = 0.34, 0.75, 2.4  # inches: a row, the head and axis of a panel, and a panel with a sweep


@draw("figures by seed")
def spread(claim: TestedClaim, *arms: str) -> Html:
    """Draw a panel for each figure: the value of every seed as a point, and the mean or median with its interval.

    Without a sweep, each arm is a row. With a sweep, the axis of the sweep is horizontal, and each arm has a colour.
    """
    shown = [each for each in claim.arms(*arms) if each.result.measured]
    groups = {name: [each for each in shown if each.case.figure == name] for name in _names(shown)}
    swept = all(each.case.value for each in shown)
    heights = [_SWEPT if swept else _HEAD + _ROW * len(group) for group in groups.values()]
    figure, panels = axes(len(groups), size=(6.1, sum(heights)), share=False, gridspec_kw={"height_ratios": heights})
    for (name, group), panel in zip(groups.items(), panels, strict=True):
        if swept:
            _swept(panel, name, group, claim.judged.declared.experiment.axis)
        else:
            _rows(panel, name, group)
    said = "; ".join(f"{_label(each)}: {each.result.measured}" for each in shown)
    several = any(len(each.result.sample.figures) > 1 for each in shown)
    caption = "Small points: the seeds. Large points: mean or median, with its interval." if several else "Measured."
    if any(each.result.predicted for each in shown):
        caption += " Dashed: predicted."
    return picture(claim, "spread", figure, said, caption, shown)


def _names(shown: Sequence[TestedCase]) -> list[str]:
    return list(dict.fromkeys(each.case.figure for each in shown))


def _label(each: TestedCase) -> str:
    return f"{each.label}, {each.case.figure}" if each.case.figure else each.label


def _rows(panel: Axes, name: str, group: Sequence[TestedCase]) -> None:
    """Draw a row for each arm."""
    factor, unit = scale_of(each.result.measured for each in group)
    for row, each in enumerate(group):
        measured, predicted = each.result.measured, each.result.predicted
        assert measured is not None
        draw_sample(panel, row, each.result, factor, ARMS[0], each.label, is_upright=False)
        panel.plot(
            [measured.number / factor], [row], "o", color=ARMS[0], markersize=7.5, clip_on=False, label=each.label
        )
        if predicted:
            panel.plot(
                [predicted.number / factor] * 2,
                [row - 0.35, row + 0.35],
                color=PREDICTED,
                linestyle=(0, (3, 1.5)),
                label=f"{each.label}, predicted",
            )
        place = (1.01, row)
        panel.annotate(wording.figure(measured), place, xycoords=("axes fraction", "data"), va="center", color=INK)
    panel.set_yticks(range(len(group)), [each.label for each in group])
    panel.set_ylim(len(group) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.grid(True, axis="x")
    panel.grid(False, axis="y")
    panel.xaxis.set_major_locator(MaxNLocator(_TICKS, steps=[1, 2, 2.5, 5, 10]))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    panel.set_xlim(left=min(0.0, *panel.get_xlim()))
    panel.set_xlabel(_named(name, unit))


def _swept(panel: Axes, name: str, group: Sequence[TestedCase], axis: str) -> None:
    """Draw each arm in its own colour against the values of the sweep."""
    (across, unit), (up, of) = (
        scale_of(values) for values in zip(*((each.case.value, each.result.measured) for each in group), strict=True)
    )
    ends = []
    for index, arm in enumerate(dict.fromkeys(each.case.arm for each in group)):
        mine = [each for each in group if each.case.arm == arm]
        colour = ARMS[index % len(ARMS)]
        points = [(each.case.value.number / across, each.result) for each in mine if each.case.value]
        for at, result in points:
            draw_sample(panel, at, result, up, colour, arm, is_upright=True)
        middle = [(at, result.measured.number / up) for at, result in points if result.measured]
        panel.plot(
            *zip(*middle, strict=True), "o-", color=colour, markersize=6.5, linewidth=1, clip_on=False, label=arm
        )
        foretold = [(at, result.predicted.number / up) for at, result in points if result.predicted]
        if foretold:
            name = f"{arm}, predicted"
            panel.plot(*zip(*foretold, strict=True), color=colour, linestyle=DASHED, linewidth=1.4, label=name)
        ends.append(Label(middle[-1][1], mine[0].case.title, colour))
    for axis_of in (panel.xaxis, panel.yaxis):
        axis_of.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    panel.set_ylim(bottom=min(0.0, *panel.get_ylim()))
    panel.set(xlabel=_named(axis, unit), ylabel=_named(name, of))
    if len(ends) > 1:
        labels(panel, ends)


def _named(text: str, unit: str) -> str:
    return ", ".join(filter(None, (text, unit)))
