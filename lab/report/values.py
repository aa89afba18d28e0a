"""Extract the data behind a figure: as CSV, and for the page's script, which shows the values under the pointer."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, log10
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

_POINT = 72  # units of an SVG drawing per inch
_MOST = 120  # points of a line that the page has, because its drawing has few pixels
_MOST_ROWS = 5_000  # points of a line in the CSV
_STYLES = {"--": "predicted", ":": "reported"}  # what an unnamed line is, by its style


@dataclass(frozen=True)
class _Series:
    """Holds one line or one group of bars: its name, and its points in the units of the axes."""

    name: str
    points: Sequence[tuple[float, float]]


def as_csv(figure: Figure) -> str:
    """Return every point of the figure as a row: panel, series, the names of both axes and both values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["panel", "series", "x_axis", "x", "y_axis", "y"])
    for number, panel in enumerate(figure.axes, 1):
        x, y = _axis_name(figure, panel, "x"), panel.get_ylabel().replace("\n", " ")
        for series in _series(panel):
            for at, value in _evenly(series.points, _MOST_ROWS):
                writer.writerow([panel.get_title(loc="left") or number, series.name, x, f"{at:.9g}", y, f"{value:.9g}"])
    return text.getvalue()


def as_json(figure: Figure) -> str:
    """Return the panels of a drawn figure for the page's script, or "" without points.

    Each panel has its box in the drawing, the ends of its axes, and the places of its points, to a tenth of a unit.
    """
    panels = [found for panel in figure.axes if (found := _panel(figure, panel))]
    return json.dumps(panels, separators=(",", ":")) if panels else ""


def _panel(figure: Figure, panel: Axes) -> dict[str, Any] | None:
    scales = panel.get_xscale(), panel.get_yscale()
    if not {*scales} <= {"linear", "log"}:
        return None
    height = figure.get_figheight() * _POINT

    def place(points: Iterable[tuple[float, float]]) -> list[list[float]]:
        seen = panel.transData.transform(list(points)) * _POINT / figure.dpi
        return [[round(float(x), 1), round(height - float(y), 1)] for x, y in seen]

    ends = list(zip(panel.get_xlim(), panel.get_ylim(), strict=True))
    lines = [[each.name, place(_evenly(each.points, _MOST))] for each in _series(panel)]
    if not lines or not all(isfinite(end) for pair in ends for end in pair):
        return None
    lows, highs = ends
    axes = [
        [*(log10(end) if scale == "log" else end for end in pair), scale == "log"]
        for pair, scale in zip(zip(lows, highs, strict=True), scales, strict=True)
    ]
    names = [_axis_name(figure, panel, "x"), panel.get_ylabel().replace("\n", " ")]
    return {"box": place(ends), "axes": axes, "names": names, "lines": lines}


def _axis_name(figure: Figure, panel: Axes, which: str) -> str:
    """Return the name of an axis. Panels that share an axis have its name on the last panel."""
    return panel.get_xlabel() or figure.axes[-1].get_xlabel() if which == "x" else panel.get_ylabel()


def _series(panel: Axes) -> Iterator[_Series]:
    for line in panel.get_lines():
        points = _points(line)
        if points and line.get_transform() == panel.transData:  # a line across the panel has no data of its own
            yield _Series(_named(line), points)
    bars = [patch for patch in panel.patches if isinstance(patch, Rectangle)]
    if bars:
        labels = {round(float(at), 6): text.get_text() for at, text in _ticks(panel)}
        for bar in bars:
            middle = bar.get_y() + bar.get_height() / 2
            name = labels.get(round(float(middle), 6), "")
            if name:  # a horizontal bar, whose row has a name
                yield _Series(name, [(float(bar.get_width()), float(middle))])
            else:
                yield _Series("", [(float(bar.get_x()), float(bar.get_height()))])


def _ticks(panel: Axes) -> Iterator[tuple[float, Any]]:
    return zip(panel.get_yticks(), panel.get_yticklabels(), strict=False)


def _points(line: Line2D) -> list[tuple[float, float]]:
    columns = (np.asarray(line.get_xdata(orig=False), float), np.asarray(line.get_ydata(orig=False), float))
    return [(x, y) for x, y in zip(*(column.tolist() for column in columns), strict=True) if isfinite(x + y)]


def _named(line: Line2D) -> str:
    label = str(line.get_label())
    if not label.startswith("_"):
        return label
    style = str(line.get_linestyle())
    return "claimed" if line.get_marker() == "x" else _STYLES.get(style, "measured")


def _evenly(points: Sequence[tuple[float, float]], most: int) -> Sequence[tuple[float, float]]:
    """Return at most `most` of the points, evenly chosen, with the first and the last."""
    if len(points) <= most:
        return points
    return [points[int(at)] for at in np.linspace(0, len(points) - 1, most)]
