"""Extract the data behind a figure: as CSV, and for the page's script, which shows the values under the pointer."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite, log10
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch

_POINT = 72  # units of an SVG drawing per inch
_MOST = 60  # points of a line that the page has, because its drawing has few pixels
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
    for number, panel in enumerate(_panels(figure), 1):
        x, y = _name_of_x(figure, panel), panel.get_ylabel().replace("\n", " ")
        for series in chain(_series(panel), _cells(panel)):
            for at, value in _evenly(series.points, _MOST_ROWS):
                writer.writerow([panel.get_title(loc="left") or number, series.name, x, f"{at:.9g}", y, f"{value:.9g}"])
    return text.getvalue()


def as_json(figure: Figure) -> str:
    """Return the panels of a drawn figure for the page's script, or "" without points.

    Each panel has its box in the drawing, the ends of its axes, and the places of its points, to a tenth of a unit.
    """
    panels = [found for panel in _panels(figure) if (found := _panel(figure, panel))]
    return json.dumps(panels, separators=(",", ":")) if panels else ""


def _panels(figure: Figure) -> list[Axes]:
    return [panel for panel in figure.axes if panel.get_label() != "<colorbar>"]


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
    names = [_name_of_x(figure, panel), panel.get_ylabel().replace("\n", " ")]
    return {"box": place(ends), "axes": axes, "names": names, "lines": lines}


def _name_of_x(figure: Figure, panel: Axes) -> str:
    """Return the name of the x axis. Panels that share the axis have its name on the last panel."""
    return panel.get_xlabel() or _panels(figure)[-1].get_xlabel()


def _series(panel: Axes) -> Iterator[_Series]:
    """Yield what is drawn at its values: lines, steps, bars, marks, and bars from one value to another."""
    for line in panel.get_lines():
        points = _points(line)
        if points and line.get_transform() == panel.transData:  # a line across the panel has no data of its own
            yield _Series(_named(line), points)
    for patch in panel.patches:
        if isinstance(patch, StepPatch):
            values, edges, _ = patch.get_data()
            yield _Series(_label(patch), list(zip(edges.tolist(), values.tolist(), strict=False)))
    for bars in panel.containers:
        if isinstance(bars, BarContainer):
            yield from _bars(panel, bars)
    for drawn in panel.collections:
        if isinstance(drawn, LineCollection):
            yield _Series(_label(drawn), [(float(x), float(y)) for ends in drawn.get_segments() for x, y in ends])
        elif isinstance(drawn, PathCollection):
            offsets = np.ma.getdata(drawn.get_offsets())
            yield _Series(_label(drawn), [(float(x), float(y)) for x, y in offsets])


def _bars(panel: Axes, bars: BarContainer) -> Iterator[_Series]:
    if bars.orientation == "vertical":
        middles = [(bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height()) for bar in bars.patches]
        yield _Series(_label(bars), middles)
        return
    rows = {round(float(at), 6): text.get_text() for at, text in _ticks(panel)}
    for bar in bars.patches:
        middle = bar.get_y() + bar.get_height() / 2
        yield _Series(rows.get(round(float(middle), 6), _label(bars)), [(bar.get_x() + bar.get_width(), middle)])


def _cells(panel: Axes) -> Iterator[_Series]:
    """Yield each row of a heat map, with the number of the column as place."""
    rows = [text.get_text() for _, text in _ticks(panel)]
    for mesh in panel.collections:
        if isinstance(mesh, QuadMesh):
            grid = np.ma.filled(np.ma.asarray(mesh.get_array()).astype(float), np.nan)
            for name, row in zip(rows, grid.reshape(len(rows), -1).tolist(), strict=False):
                yield _Series(name, [(float(at), value) for at, value in enumerate(row, 1) if isfinite(value)])


def _ticks(panel: Axes) -> Iterator[tuple[float, Any]]:
    return zip(panel.get_yticks(), panel.get_yticklabels(), strict=False)


def _label(drawn: Any) -> str:
    label = str(drawn.get_label())
    return "" if label.startswith("_") else label


def _points(line: Line2D) -> list[tuple[float, float]]:
    columns = (np.asarray(line.get_xdata(orig=False), float), np.asarray(line.get_ydata(orig=False), float))
    return [(x, y) for x, y in zip(*(column.tolist() for column in columns), strict=True) if isfinite(x + y)]


def _named(line: Line2D) -> str:
    if label := _label(line):
        return label
    style = str(line.get_linestyle())
    return "claimed" if line.get_marker() == "x" else _STYLES.get(style, "measured")


def _evenly(points: Sequence[tuple[float, float]], most: int) -> Sequence[tuple[float, float]]:
    """Return at most `most` of the points, evenly chosen, with the first and the last."""
    if len(points) <= most:
        return points
    return [points[int(at)] for at in np.linspace(0, len(points) - 1, most)]
