"""Draw segments by their length and the times of transfers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from lab.metric import Segments, connection_of
from lab.model import base_rtt, largest_payload, largest_payload_back
from lab.report import drawing, wording
from lab.report.drawing import ARMS, MUTED, PREDICTED, REPORTED, Label, axes, draw, heading, labels, picture
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim

_BAR = 18  # bytes: the width of a bar
_MARKERS: tuple[dict[str, Any], ...] = (  # open and of different sizes, since curves may coincide
    {"marker": "o", "markersize": 5},
    {"marker": "s", "markersize": 5},
    {"marker": "^", "markersize": 9, "markerfacecolor": "none", "markeredgewidth": 1.6},
    {"marker": "D", "markersize": 8, "markerfacecolor": "none", "markeredgewidth": 1.6},
    {"marker": "o", "markersize": 12, "markerfacecolor": "none", "markeredgewidth": 1.6},
)
_LONGEST = 1560  # bytes, and room for a label
_BESIDE = 7  # points from a line to its label


@draw("segment lengths")
def segment_sizes(claim: TestedClaim, *arms: str) -> Html:
    """Draw segments by payload, one panel per arm. Segments to the receiver point up, segments from the receiver
    down.
    """
    shown = claim.arms(*arms)
    figure, panels = axes(len(shown), size=(6.1, 1.55 * len(shown) + 0.5))
    said = []
    for each, panel in zip(shown, panels, strict=True):
        connection, scenario = connection_of(each.ran, "sender"), claim.scenario_of(each)
        ahead, behind = _sizes(connection.forward), _sizes(connection.back)
        top = max([1, *ahead.values(), *behind.values()])
        _direction(panel, ahead, largest_payload(scenario).number, ARMS[0], top, 1)
        _direction(panel, behind, largest_payload_back(scenario).number, ARMS[1], top, -1)
        panel.axhline(0, color=MUTED, linewidth=0.8)
        panel.set(xlim=(0, _LONGEST), ylim=(-1.5 * top, 1.5 * top), ylabel="segments")
        heading(panel, each.label)
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):,.0f}"))
        said.append(f"{each.label}: to the receiver {ahead}, back {behind}")
    panels[-1].set_xlabel("payload of a segment, bytes")
    caption = (
        "Data segments by their payload: upwards from A to B, downwards from B to A. Dashed: the predicted full "
        "segment of each direction. The last segment of a write is shorter."
    )
    return picture(claim, "segment-sizes", figure, "; ".join(said), caption, shown, of_first=True)


def _sizes(segments: Segments) -> dict[int, int]:
    """Return the number of segments for each payload in bytes."""
    sizes, counts = np.unique(segments.payload[segments.data], return_counts=True)
    return dict(zip(sizes.tolist(), counts.tolist(), strict=True))


def _direction(panel: Axes, sizes: Mapping[int, int], full: float, colour: str, top: float, sign: int) -> None:
    panel.bar(list(sizes), [sign * count for count in sizes.values()], width=_BAR, color=colour)
    panel.plot([full, full], [0, sign * 1.4 * top], color=PREDICTED, linestyle=drawing.DASHED, linewidth=1.2)
    if sizes:
        way = "A to B" if sign > 0 else "B to A"
        text = f"{way}: {max(sizes):,} B at most, {sum(sizes.values()):,} segments"
        side, shift = ("right", -_BESIDE) if full > _LONGEST / 2 else ("left", _BESIDE)
        place = (full, sign * 1.25 * top)
        panel.annotate(text, place, (shift, 0), textcoords="offset points", ha=side, va="center", color=colour)


@draw("transfer times")
def transfer_times(claim: TestedClaim) -> Html:
    """Draw the claimed, the predicted and the measured time, one group per arm."""
    shown = tuple(each for each in claim.run if each.result.unit == "s")
    rows = [
        (name, value.number, colour, each, wording.quoted(value) if name == each.whose else wording.figure(value))
        for each in shown
        for name, value, colour in (
            (each.whose, each.claimed, REPORTED),
            ("predicted", each.result.predicted, PREDICTED),
            ("measured", each.result.measured, ARMS[0]),
        )
        if value
    ]
    figure, (panel,) = axes(size=(6.1, 0.27 * (len(rows) + len(shown)) + 0.8))
    place, ticks = 0.0, []
    for index, (name, number, colour, each, said) in enumerate(rows):
        if index == 0 or rows[index - 1][3] is not each:
            place += 1.0
            panel.annotate(each.label, (0, place), va="center", fontweight="bold", annotation_clip=False)
        place += 1.0
        panel.barh(place, number, height=0.72, color=colour)
        panel.annotate(said, (number, place), (5, 0), textcoords="offset points", va="center", color=colour)
        ticks.append((place, name))
    panel.set_yticks([at for at, _ in ticks], [name for _, name in ticks])
    panel.set(ylim=(place + 0.6, 0.4), xlim=(0, 1.2 * max(row[1] for row in rows)), xlabel="time of the transfer, s")
    panel.grid(False, axis="y")
    panel.grid(True, axis="x")
    panel.tick_params(axis="y", length=0)
    alt = "; ".join(f"{each.label}, {name}: {said}" for name, _, _, each, said in rows)
    return picture(claim, "transfer-times", figure, alt, "Transfer times: claimed, predicted, measured.", shown)


@draw("times by delay")
def times_by_delay(claim: TestedClaim, *others: TestedClaim, names: Mapping[str, str]) -> Html:
    """Draw the time against the round trip for these claims, one line per arm in `names`, and the article's two
    times.
    """
    claims = (claim, *others)
    figure, (panel,) = axes(size=(6.1, 4.2))
    ends: list[Label] = []
    colours = dict(zip(names, ARMS, strict=False))
    markers = dict(zip(names, _MARKERS, strict=False))
    for arm, name in names.items():
        points = sorted((_rtt(one, each), each) for one in claims for each in one.run if each.case.arm == arm)
        measured = [(rtt, each.result.measured.number) for rtt, each in points if each.result.measured]
        predicted = [(rtt, each.result.predicted.number) for rtt, each in points if each.result.predicted]
        said = [(rtt, each.claimed.number) for rtt, each in points if each.claimed]
        panel.plot(*zip(*measured, strict=True), color=colours[arm], linewidth=1.8, **markers[arm])
        panel.plot(*zip(*predicted, strict=True), color=PREDICTED, linewidth=0.7, linestyle=drawing.DASHED)
        ends.append(Label(measured[-1][1], f"{name}: {measured[-1][1]:.1f}", colours[arm]))
        if arm in (each.case.arm for each in claim.run if not each.case.explains):
            panel.plot(*zip(*said, strict=True), color=REPORTED, linestyle=drawing.DOTTED, marker="s", markersize=6)
            ends.append(Label(said[-1][1], f"article, {name}: {said[-1][1]:g}", REPORTED))
    panel.set(xlabel="round-trip time of the idle path, ms", ylabel="time of the transfer, s", ylim=(0, 90))
    labels(panel, ends, room=0.06)
    shown = [each for one in claims for each in one.run if each.case.arm in names]
    alt = "Transfer time at the longest delay. " + "; ".join(label.text for label in ends)
    caption = "Solid: measured; dashed: predicted; dotted: the article. Figures in seconds, at the longest delay."
    return picture(claim, "times-by-delay", figure, alt, caption, shown)


def _rtt(claim: TestedClaim, each: TestedCase) -> float:
    """Return the round-trip time of the idle path, in milliseconds."""
    return 1e3 * base_rtt(claim.scenario_of(each)).number
