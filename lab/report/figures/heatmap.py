"""Draw two settings against each other: the figure of every arm at every point."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.patches import Rectangle

from lab.report import wording
from lab.report.drawing import MUTED, REPORTED, SMALL, axes, draw, picture
from lab.report.figures.scale import scale_of
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim

_CELL, _BESIDE = (0.95, 0.85), (2.3, 1.0)  # inches: a cell, and the margins around the cells
_LUMA, _DARK = (0.299, 0.587, 0.114), 0.5  # weights of red, green, blue (ITU-R BT.601); text is white on darker cells


@draw("a heat map")
def heatmap(claim: TestedClaim, *arms: str, rows: str = "arm", of: str = "measured") -> Html:
    """Draw one cell per arm and point: the measurement, the model's error, and the article's figure.

    The arms are the rows, from bottom to top, and `rows` describes their settings. The points of the sweep are the
    columns. `of` names the quantity. A cell without a measurement has a dash.
    """
    shown = claim.arms(*arms)
    names = list(dict.fromkeys(each.case.arm for each in shown))
    points = list(dict.fromkeys(each.case.point for each in shown))
    axis = claim.judged.declared.experiment.axis if any(points) else ""
    factor, unit = scale_of(each.result.measured for each in shown)
    grid = np.full((len(names), len(points)), np.nan)
    drawing, (panel,) = axes(size=(_BESIDE[0] + _CELL[0] * len(points), _BESIDE[1] + _CELL[1] * len(names)))
    places = {(names.index(each.case.arm), points.index(each.case.point)): each for each in shown}
    for place, each in places.items():
        if each.result.measured:
            grid[place] = each.result.measured.number / factor
    mesh = panel.pcolormesh(np.ma.masked_invalid(grid), cmap="cividis", edgecolors="white", linewidth=1.5)
    for (row, column), each in places.items():
        _say(panel, mesh, (column, row), each, float(grid[row, column]), factor)
    panel.grid(False)
    panel.spines[:].set_visible(False)
    panel.tick_params(length=0)
    panel.set_xticks(np.arange(len(points)) + 0.5, points)
    titles = {each.case.arm: each.case.title for each in shown}
    panel.set_yticks(np.arange(len(names)) + 0.5, [titles[name] for name in names])
    panel.set(xlabel=axis, ylabel=rows)
    drawing.colorbar(mesh, ax=panel, label=", ".join(filter(None, (of, unit))), aspect=30).outline.set_visible(False)
    alt = f"{of} by {rows} and {axis}: " + "; ".join(
        f"{each.label}: {wording.figure(each.result.measured)}" for each in shown
    )
    caption = "Measured with every pair of settings; below it, the model's error."
    if any(each.claimed for each in shown):
        caption += " Framed: the claim's figures."
    return picture(claim, ".".join(["heatmap", *arms[:1]]), drawing, alt, caption, shown)


def _say(panel: Axes, mesh: QuadMesh, corner: tuple[int, int], each: TestedCase, number: float, factor: float) -> None:
    """Write the texts of one cell."""
    column, row = corner
    if np.isnan(number):
        panel.annotate("—", (column + 0.5, row + 0.5), ha="center", va="center", color=MUTED)
        return
    result = each.result
    luma = float(np.dot(_LUMA, mesh.to_rgba(np.array([number]))[0, :3]))
    small = [wording.percent(result.model_error)] if result.model_error is not None else []
    if each.claimed:
        small.append(f"{each.whose} {each.claimed.number / factor:.4g}")
        panel.add_patch(
            Rectangle((column + 0.03, row + 0.04), 0.94, 0.92, fill=False, edgecolor=REPORTED, linewidth=2.5)
        )
    ink = "white" if luma < _DARK else "black"
    height = 0.5 + 0.13 * len(small)
    panel.annotate(f"{number:.4g}", (column + 0.5, row + height), ha="center", va="center", color=ink)
    for line, text in enumerate(small):
        place = (column + 0.5, row + height - 0.31 - 0.24 * line)
        panel.annotate(text, place, ha="center", va="center", color=ink, fontsize=SMALL)
