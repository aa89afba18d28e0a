"""Draw arms as ratios to another, and list what the kernel counted in each."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.ticker import FixedLocator, NullLocator

from lab.metric import counted
from lab.report import html
from lab.report.drawing import ARMS, INK, MUTED, PREDICTED, axes, draw, picture
from lab.report.html import Html
from lab.report.tested import TestedClaim
from lab.units import Value

__all__ = ["kernel_counts", "ratios"]

_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)


@draw("ratios")
def ratios(claim: TestedClaim, quantity: str = "goodput") -> Html:
    """Draw the ratio of each relative arm, with its interval and its coverage, next to its prediction."""
    shown = tuple(each for each in claim.run if each.case.relative_to)
    figure, (panel,) = axes(size=(6.1, 0.5 * len(shown) + 1.0))
    said, ends = [], [1.0]
    for row, each in enumerate(shown):
        measured, predicted = each.result.measured, each.result.predicted
        if measured is None:
            continue
        low = measured.number if measured.low is None else measured.low
        high = measured.number if measured.high is None else measured.high
        ends += [max(low, measured.number / 10), high]  # an interval of few samples may reach below zero
        panel.plot([low, high], [row, row], color=ARMS[0], linewidth=2)
        panel.plot([measured.number], [row], marker="o", color=ARMS[0], markersize=7)
        if predicted:
            panel.plot([predicted.number] * 2, [row - 0.3, row + 0.3], color=PREDICTED, linestyle=(0, (3, 1.5)))
        panel.annotate(
            f" {html.figure(measured)}{_sure(measured)}",
            (1.0, row),
            xycoords=("axes fraction", "data"),
            va="center",
            color=INK,
        )
        said.append(f"{each.label} over {each.case.relative_to}: {measured}")
    panel.axvline(1, color=MUTED, linewidth=1)
    panel.set_xscale("log")
    panel.set_xlim(0.85 * min(ends), 1.2 * max(ends))
    panel.xaxis.set_major_locator(FixedLocator(_TICKS))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    panel.set_xlim(0.85 * min(ends), 1.2 * max(ends))
    panel.set_yticks(range(len(shown)), [f"{each.label} / {each.case.relative_to}" for each in shown])
    panel.set(ylim=(len(shown) - 0.5, -0.5), xlabel=f"ratio of {quantity}")
    panel.grid(True, axis="x")
    panel.grid(False, axis="y")
    caption = (
        f"{quantity.capitalize()} of one arm divided by that of another in the same repeat. The bar is the interval, "
        "which holds the true ratio in as many cases as the percentage says. Dashed: predicted."
    )
    return picture(claim, "ratios", figure, "; ".join(said), caption, shown)


def _sure(measured: Value) -> str:
    """Return the interval's coverage; "" without an interval."""
    return f" ({100 * measured.coverage:.3g} %)" if measured.coverage else ""


@draw("kernel counts")
def kernel_counts(claim: TestedClaim, names: Mapping[str, str]) -> Html:
    """List what the sender's kernel counted in the first trial of each arm; `names`: counter -> heading."""
    rows = []
    for each in claim.run:
        counts = [counted(name, each.case.path[0])(each.record).number for name in names] if each.record else []
        trial = claim.trial_link(each.record) if each.record else html.DASH
        rows.append([html.code(each.label), *(f"{count:,.0f}" for count in counts), trial])
    return Html(html.table(["Arm", *names.values(), "Trial"], rows))
