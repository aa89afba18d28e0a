"""The picture of what trials cost has the figures that were measured, as text, and is the same each time."""

from pathlib import Path

from bench import growth

COSTS = {
    "flows": {"1": [0.9, 1.0, 1.1], "1000": [2.0]},
    "rates": {"10 Mbit/s": [0.5], "100 Gbit/s": [3.25, 40.0, 3.0]},
}


def test_the_picture_shows_medians_as_text(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("first.svg", "second.svg")]
    for path in paths:
        growth.draw(COSTS, path)
    first, second = (path.read_text() for path in paths)
    assert first == second
    for figure in ("1", "2", "0.5", "3.2", "seconds of CPU", "1000", "Gbit/s"):
        assert f">{figure}</text>" in first, figure
