"""Draw arms as ratios to a base arm, and list the kernel's counters in each arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from lab.errors import LabError
from lab.metric import counted
from lab.report import html, wording
from lab.report.drawing import ARMS, INK, MUTED, PAPER, PREDICTED, SMALL, axes, draw, onwards, picture
from lab.report.figures.scale import drawn_ends
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim
from lab.units import Value

_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
_LEAST = 0.005  # the least reach of an axis from one
_NEAR = 1.1  # ratios between this and its inverse have a separate panel if others are farther from one


@draw("ratios")
def ratios(claim: TestedClaim, quantity: str = "goodput") -> Html:
    """Draw the ratio of each relative arm, with its interval and coverage, next to the prediction."""
    titles = {each.case.arm: each.case.title for each in claim.tested}
    shown = tuple(each for each in claim.run if each.case.relative_to and each.result.measured)
    if not shown:
        raise LabError("none of its repeats counts")
    near = [each for each in shown if all(1 / _NEAR < end < _NEAR for end in _ends(each))]
    parts = [part for part in (near, [each for each in shown if each not in near]) if part]
    heights = [len(part) + 1.2 for part in parts]
    figure, panels = axes(
        len(parts), size=(6.1, 0.62 * sum(heights)), share=False, gridspec_kw={"height_ratios": heights}
    )
    for part, panel in zip(parts, panels, strict=True):
        _panel(panel, part, titles)
        _axis(panel, [end for each in part for end in _ends(each)])
    panels[-1].set_xlabel(f"ratio of {quantity}")
    said = [f"{each.label} over {titles[each.case.relative_to]}: {each.result.measured}" for each in shown]
    caption = (
        f"{quantity[:1].upper()}{quantity[1:]} of one arm divided by that of another in the same repeat. The bar is "
        "the interval, which holds the true ratio in as many cases as the percentage says. Dashed: predicted."
    )
    if len(parts) > 1:
        caption += " Ratios near one are above, on a scale of their own."
    return picture(claim, "ratios", figure, "; ".join(said), caption, shown)


def _ends(each: TestedCase) -> tuple[float, float]:
    """Return the ends of a ratio's interval on a logarithmic scale, which has no zero."""
    measured = each.result.measured
    assert measured is not None
    low, high = drawn_ends(measured)
    return max(low, measured.number / 10), high


def _panel(panel: Axes, shown: Sequence[TestedCase], titles: Mapping[str, str]) -> None:
    """Draw a row for each of the given arms."""
    for row, each in enumerate(shown):
        measured, predicted = each.result.measured, each.result.predicted
        assert measured is not None
        panel.plot(_ends(each), [row, row], color=ARMS[0], linewidth=2, label=f"{each.label}, interval")
        for end, real, is_up in zip(_ends(each), measured.bounds, (False, True), strict=True):
            if end != real:
                onwards(panel, (end, row), is_up, ARMS[0])
        panel.plot([measured.number], [row], marker="o", color=ARMS[0], markersize=7, label=each.label)
        if predicted:
            panel.plot(
                [predicted.number] * 2,
                [row - 0.3, row + 0.3],
                color=PREDICTED,
                linestyle=(0, (3, 1.5)),
                label=f"{each.label}, predicted",
            )
        place, over = (1.0, row), ("axes fraction", "data")
        panel.annotate(
            f" {wording.answer(each.result, measured)}{_sure(measured)}", place, xycoords=over, va="center", color=INK
        )
        # Do not repeat the base arm if the title already names it.
        name = each.label if " over " in each.label else f"{each.label} over {titles[each.case.relative_to]}"
        behind = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0}  # so that no line crosses it
        panel.annotate(name, (0.0, row - 0.28), xycoords=over, fontsize=SMALL, annotation_clip=False, bbox=behind)
    panel.axvline(1, color=MUTED, linewidth=1)
    panel.set_yticks([])
    panel.spines["left"].set_visible(False)
    panel.set_ylim(len(shown) - 0.6, -0.7)
    panel.grid(True, axis="x")
    panel.grid(False, axis="y")


def _axis(panel: Axes, ends: Sequence[float]) -> None:
    """Choose the scale, which is linear if all ratios are near one. The ratio one is in the middle."""
    furthest = max(_LEAST, *(abs(end - 1) for end in ends))
    if furthest < _NEAR - 1:
        panel.set_xlim(1 - 1.3 * furthest, 1 + 1.3 * furthest)
        away = MaxNLocator(2).tick_values(0, furthest)
        panel.xaxis.set_major_locator(FixedLocator(sorted({1 + sign * each for each in away for sign in (-1, 1)})))
        return
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(FixedLocator(_TICKS))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    panel.set_xlim(0.85 * min(1.0, *ends), 1.2 * max(1.0, *ends))


def _sure(measured: Value) -> str:
    """Return a line with the interval and its coverage, or "" without an interval."""
    interval = wording.interval(measured)
    return f"\n{interval}" if interval else ""


@draw("kernel counts")
def kernel_counts(claim: TestedClaim, names: Mapping[str, str]) -> Html:
    """Return a table of the sender's kernel counters in each arm's first trial. `names` maps each counter to its
    heading.
    """
    rows = []
    for each in claim.run:
        counts = [counted(name, each.case.path[0])(each.record).number for name in names] if each.record else []
        trial = claim.trial_link(each.record) if each.record else wording.DASH
        rows.append([html.code(each.label), *(f"{count:,.0f}" for count in counts), trial])
    return Html(html.table(["Arm", *names.values(), "Trial"], rows))
