"""The colours of figures are distinct for every kind of colour vision, on light and on dark pages."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from lab.report import page
from lab.report.drawing import ARMS, INK, REPORTED

Numbers = npt.NDArray[np.float64]

LEAST = 10  # CIEDE2000: 1 is just visible side by side, and thin lines apart from each other need much more
READABLE = 4.5  # the contrast of small text that WCAG 2 asks for: labels have the colours of their lines
NAMES = ("arm-1", "arm-2", "arm-3", "arm-4", "arm-5", "said", "ink")
# G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A Physiologically-based Model for Simulation of Color Vision
# Deficiency", IEEE TVCG 15(6), 2009: the matrices of full severity, for linear RGB.
VISION = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def colours(scheme: str) -> dict[str, str]:
    """Return variable -> colour of the style sheet, in light or in dark."""
    light, dark = re.findall(r":root \{(.*?)\}", page.style(), re.DOTALL)[:2]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", light + (dark if scheme == "dark" else "")))


def linear(colour: str) -> Numbers:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def cielab(rgb: Numbers) -> Numbers:
    share = XYZ @ np.clip(rgb, 0, 1) / (XYZ @ np.ones(3))
    x, y, z = np.where(share > (6 / 29) ** 3, np.cbrt(share), share / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(one: Numbers, other: Numbers) -> float:
    """Return CIEDE2000 of two colours in CIELAB (G. Sharma, W. Wu, E. N. Dalal, 2005)."""
    mean = float(np.mean([np.hypot(*each[1:]) for each in (one, other)]))
    grown = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25**7))
    chroma = [float(np.hypot(grown * each[1], each[2])) for each in (one, other)]
    hue = [float(np.degrees(np.arctan2(each[2], grown * each[1]))) % 360 for each in (one, other)]
    turn = (hue[1] - hue[0] + 180) % 360 - 180
    middle = (hue[0] + turn / 2) % 360
    light, strong = (one[0] + other[0]) / 2, sum(chroma) / 2
    weight = 1 + sum(
        factor * np.cos(np.radians(times * middle + shift))
        for factor, times, shift in ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63))
    )
    lighter = (other[0] - one[0]) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    stronger = (chroma[1] - chroma[0]) / (1 + 0.045 * strong)
    turned = 2 * np.sqrt(chroma[0] * chroma[1]) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * strong * weight)
    bent = (
        -2 * np.sqrt(strong**7 / (strong**7 + 25**7)) * np.sin(np.radians(60 * np.exp(-(((middle - 275) / 25) ** 2))))
    )
    return float(np.sqrt(lighter**2 + stronger**2 + turned**2 + bent * stronger * turned))


def test_the_measure_is_the_published_one() -> None:
    """Three pairs of the table in Sharma's paper."""
    for one, other, expected in (
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
    ):
        assert difference(np.array(one), np.array(other)) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("vision", VISION)
def test_no_two_colours_of_a_figure_look_alike(scheme: str, vision: str) -> None:
    found = colours(scheme)
    seen = {name: cielab(VISION[vision] @ linear(found[name])) for name in NAMES}
    near = {(a, b): round(difference(seen[a], seen[b]), 1) for a, b in combinations(NAMES, 2)}
    assert not {pair: value for pair, value in near.items() if value < LEAST}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_label_in_the_colour_of_its_line_is_readable(scheme: str) -> None:
    found = colours(scheme)
    paper = found.get("paper", "#ffffff") if scheme == "dark" else "#ffffff"
    for name in NAMES:
        dark, light = sorted(float(linear(each) @ XYZ[1]) for each in (found[name], paper))
        assert (light + 0.05) / (dark + 0.05) >= READABLE, name


def test_files_of_figures_have_the_colours_of_a_light_page() -> None:
    found = colours("light")
    assert [*ARMS, REPORTED, INK] == [found[name] for name in NAMES]
