"""Charts of a trial's page."""

from __future__ import annotations

import re

import pytest

from lab.report.chart import Line, Panel, chart


@pytest.mark.parametrize(
    ("names", "least", "most"),
    [
        (("goodput",), 76, 76),
        (("segments", "retransmitted", "SACK", "acknowledged", "receive window"), 0, 30),
    ],
)
def test_names_over_a_panel_fit_its_drawing(names: tuple[str, ...], least: float, most: float) -> None:
    panel = Panel("bytes", tuple(Line(name, "red", points=((0, 1), (1, 2))) for name in names))
    drawn = chart([panel], "seconds", "two points", (0, 1))
    starts = re.findall(r'<text x="([\d.]+)" y="24">bytes<tspan', drawn)
    assert [least <= float(start) <= most for start in starts] == [True]


def test_no_time_is_cut_at_the_end_of_the_axis() -> None:
    """'0.08' at the end of its axis was shown as '0.0'."""
    drawn = chart([Panel("bytes", (Line("a", "red", points=((0, 1), (0.08, 2))),))], "s", "two points", (0, 0.08))
    place, text = re.findall(r'<text x="([\d.]+)"[^>]*>([^<]+)</text>', drawn.partition('class="times"')[2])[4]
    assert text == "0.08"
    assert float(place) + 10 * len(text) / 2 <= 640
