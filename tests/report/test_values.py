"""The data behind a figure: as CSV, and for the page's script."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from html import unescape

import pytest

from lab.report import figures
from lab.report.article import Article
from lab.report.drawing import Picture, axes
from lab.report.values import as_csv, as_json

Toy = Callable[[], Article]


def test_each_point_of_a_line_is_a_row() -> None:
    figure, (panel,) = axes()
    panel.plot([0, 1, 2], [5, 6, 7.25], label="goodput")
    panel.plot([0, 2], [6, 6], linestyle=(0, (5, 3)))
    panel.axhline(3)
    panel.set(xlabel="time, s", ylabel="rate, Mbit/s")
    rows = list(csv.DictReader(io.StringIO(as_csv(figure))))
    assert [(row["series"], row["x"], row["y"]) for row in rows] == [
        ("goodput", "0", "5"),
        ("goodput", "1", "6"),
        ("goodput", "2", "7.25"),
        ("predicted", "0", "6"),
        ("predicted", "2", "6"),
    ]
    assert {(row["x_axis"], row["y_axis"]) for row in rows} == {("time, s", "rate, Mbit/s")}


@pytest.mark.parametrize("logarithmic", [False, True])
def test_a_place_in_the_drawing_gives_the_value_back(logarithmic: bool) -> None:
    figure, (panel,) = axes()
    points = [(1.0, 10.0), (30.0, 400.0), (500.0, 90.0)]
    panel.plot(*zip(*points, strict=True), "o", label="a")
    if logarithmic:
        panel.set_xscale("log")
    figure.canvas.draw()
    (found,) = json.loads(as_json(figure))
    ((left, bottom), (right, top)), (across, up) = found["box"], found["axes"]
    ((name, places),) = found["lines"]
    assert name == "a"
    for (x, y), (px, py) in zip(points, places, strict=True):
        at = across[0] + (across[1] - across[0]) * (px - left) / (right - left)
        assert (10**at if across[2] else at) == pytest.approx(x, rel=0.02, abs=2)
        assert up[0] + (up[1] - up[0]) * (py - bottom) / (top - bottom) == pytest.approx(y, abs=1)


def test_bars_have_the_names_of_their_rows(toy: Toy) -> None:
    figure = figures.bars(toy()["header"])
    assert isinstance(figure, Picture)
    rows = list(csv.DictReader(io.StringIO(figure.csv)))
    assert {"measured", "predicted"} <= {row["series"] for row in rows}
    measured = [float(row["x"]) for row in rows if row["series"] == "measured"]
    assert measured == [32.0, 32.0]
    (values,) = re.findall(r"data-values='([^']*)'", figure.text)
    assert json.loads(unescape(values))[0]["lines"]


def test_a_page_has_few_points_and_the_file_all() -> None:
    figure, (panel,) = axes()
    panel.plot(range(3000), range(3000), label="many")
    assert as_csv(figure).count("\n") == 3001
    assert len(json.loads(as_json(figure))[0]["lines"][0][1]) <= 60


def test_every_kind_of_drawing_has_its_values() -> None:
    figure, (panel,) = axes()
    panel.stairs([3, 4], [0, 1, 2], baseline=None, label="steps")
    panel.bar([5, 6], [7, 8], label="bars")
    panel.scatter([1], [2], label="marks")
    panel.vlines([3], [0], [9], label="spans")
    panel.pcolormesh([[1.5, 2.5]])
    panel.set_yticks([0.5], ["a row"])
    rows = [(row["series"], row["x"], row["y"]) for row in csv.DictReader(io.StringIO(as_csv(figure)))]
    assert rows == [
        *(("steps", "0", "3"), ("steps", "1", "4"), ("bars", "5", "7"), ("bars", "6", "8")),
        *(("marks", "1", "2"), ("spans", "3", "0"), ("spans", "3", "9"), ("a row", "1", "1.5"), ("a row", "2", "2.5")),
    ]
    assert json.loads(as_json(figure))
