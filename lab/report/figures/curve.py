"""Draw the law behind a claim: the measurements of a sweep, with the prediction as a curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from matplotlib.ticker import FuncFormatter, NullLocator

from lab.errors import LabError
from lab.report import wording
from lab.report.drawing import ARMS, DASHED, MUTED, PAPER, REPORTED, Label, axes, bound, draw, labels, picture
from lab.report.figures.scale import NotBetween, between, draw_sample, scale_of
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim

_NEAR_AXIS = 0.25  # share of the axis: a label there would cross the vertical axis
_SAME = 0.02  # share of the axis: marks that are nearer cover each other
_WRITTEN = 4  # the most claimed figures for which there is room
_MARKERS = "osD^v"
_NOTHING: Mapping[float, str] = MappingProxyType({})
_ROOM, _ROOM_UPRIGHT = 1.6, 1.3  # the least ratio of neighbouring numbers on a logarithmic axis
_WIDE = 20  # an axis is logarithmic if the largest number is more than this many times the smallest


@draw("a sweep")
def sweep(
    claim: TestedClaim,
    *arms: str,
    of: str = "measured",
    steps: int = 1,
    groups: int = 1,
    thresholds: Mapping[float, str] = _NOTHING,
) -> Html:
    """Draw the measurements at the points of the sweep, one colour per arm, with the prediction as a curve.

    `of` names the quantity. The curve has `steps` predictions from point to point, in scenarios whose numbers are
    between the numbers of the two points. Between points that differ in more than numbers, the curve is straight. Arms
    may be in several `groups` with the same colours; the marks of the first group are filled. `thresholds` names values
    on the axis (in its base unit), which are marked.
    """
    shown = claim.arms(*arms)
    if any(each.case.value is None for each in shown):
        raise LabError("the claim has no sweep")
    names = list(dict.fromkeys(each.case.arm for each in shown))
    across, up = scale_of(each.case.value for each in shown), scale_of(each.result.measured for each in shown)
    figure, (panel,) = axes(size=(6.1, 3.8))
    places = [_at(each) for each in shown]
    logarithmic = min(places) > 0 and max(places) > _WIDE * min(places)
    ends = []
    for index, name in enumerate(names):
        place = index % -(-len(names) // groups)
        colour, marker, is_open = ARMS[place % len(ARMS)], _MARKERS[place % len(_MARKERS)], index != place
        mine = sorted((each for each in shown if each.case.arm == name), key=_at)
        measured = [
            (_at(each) / across[0], each.result.measured.number / up[0]) for each in mine if each.result.measured
        ]
        curve = [(at / across[0], number / up[0]) for at, number in _curve(claim, mine, steps, logarithmic)]
        title = mine[0].case.title
        panel.plot(*_columns(curve), color=colour, linestyle=DASHED, linewidth=1.4, label=f"{title}, predicted")
        face = PAPER if is_open else colour
        below = _hidden_by(index, names, shown)  # so that every arm is seen: rings around the marks of later arms
        face = PAPER if below else face
        for each in mine:
            if len(each.result.sample.figures) > 1:
                draw_sample(panel, _at(each) / across[0], each.result, up[0], colour, title, is_upright=True)
        shape: Any = {"marker": marker, "markerfacecolor": face, "markersize": 6.5 + 4 * below, "clip_on": False}
        panel.plot(*_columns(measured), color=colour, linestyle="", label=title, **shape)
        if len(names) > 1 and (curve or measured):
            ends.append(Label((curve or measured)[-1][1], mine[0].case.title, colour))
    said = [
        _Said(_at(each) / across[0], each.claimed.number / up[0], each.whose, each.result.bound)
        for each in shown
        if each.claimed
    ]
    crosses = _columns([each[:2] for each in said if not each.bound])
    panel.plot(*crosses, "x", color=REPORTED, markersize=9, markeredgewidth=2, clip_on=False)
    for at, number, whose, sign in said:
        if sign:
            bound(panel, (at, number), sign, REPORTED, f"{whose}, {sign.strip()}")
    for at, number, whose, sign in _labelled(said):
        near_axis = _share(at * across[0], places, logarithmic) < _NEAR_AXIS
        side, shift = ("left", (7, 8)) if near_axis else ("right", (-7, 8))
        if sign:  # beyond its arrow
            shift = (shift[0], 26 if sign.strip() in ("≥", ">") else -30)
        text = f"{whose} {sign}{number:.4g}"
        behind = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.5}  # so that no curve crosses it
        panel.annotate(text, (at, number), shift, textcoords="offset points", ha=side, color=REPORTED, bbox=behind)
    for value, name in thresholds.items():
        panel.axvline(value / across[0], color=MUTED, linewidth=1)
        place_of_name = (value / across[0], 0.97)
        panel.annotate(
            name,
            place_of_name,
            (3, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="left",
            va="top",
            color=MUTED,
            rotation=90,
        )
    if logarithmic:
        panel.set_xscale("log")
        panel.xaxis.set_minor_locator(NullLocator())
        crowded = len(_apart(places, _ROOM)) < len(set(places))
        panel.set_xticks([at / across[0] for at in (_apart(places, _ROOM_UPRIGHT) if crowded else sorted(set(places)))])
        panel.tick_params(axis="x", rotation=90 if crowded else 0)
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    panel.set_ylim(0, None)
    panel.margins(x=0.04)
    panel.set(xlabel=_named(claim.judged.declared.experiment.axis, across[1]), ylabel=_named(of, up[1]))
    labels(panel, ends)
    alt = f"{of}: " + "; ".join(f"{each.label}: {wording.figure(each.result.measured)}" for each in shown)
    several = any(len(each.result.sample.figures) > 1 for each in shown)
    named = f"{of}, by {claim.judged.declared.experiment.axis}"
    caption = f"{escape(named[:1].upper() + named[1:])}. Points: measured"
    caption += ", as mean or median, with its interval; small points: the trials. " if several else ". "
    caption += "Dashed: predicted."
    caption += " Crosses: claimed." if any(not each.bound for each in said) else ""
    caption += " Strokes with an arrow: a claimed bound and what it allows." if any(each.bound for each in said) else ""
    return picture(claim, "sweep", figure, alt, caption, shown)


def _share(at: float, places: Sequence[float], logarithmic: bool) -> float:
    """Return how far along the axis a place is, from 0 to 1."""
    low, high, here = (np.log(each) if logarithmic else each for each in (min(places), max(places), at))
    return float((here - low) / ((high - low) or 1))


def _hidden_by(index: int, names: Sequence[str], shown: Sequence[TestedCase]) -> int:
    """Return how many later arms have a mark at the place of one of this arm's marks."""
    most = max((each.result.measured.number for each in shown if each.result.measured), default=0.0) or 1.0

    def places(name: str) -> list[tuple[float, float]]:
        mine = (each for each in shown if each.case.arm == name)
        return [(_at(each), each.result.measured.number) for each in mine if each.result.measured]

    return sum(
        any(at == x and abs(number - y) < _SAME * most for at, number in places(names[index]) for x, y in places(other))
        for other in names[index + 1 :]
    )


def _at(each: TestedCase) -> float:
    return each.case.value.number if each.case.value else inf


class _Said(NamedTuple):
    """Describes a claimed figure: its place on the axis, number, source, and the sign of a bound."""

    at: float
    number: float
    whose: str
    bound: str


def _labelled(said: Sequence[_Said]) -> list[_Said]:
    """Return the claimed figures to label, each once.

    If there are many, return only the figures that the article prints.
    """
    figures = {each.number: each for each in reversed(said) if not each.bound}
    bounds = {(each.number, each.bound): each for each in said if each.bound}  # the last, away from the figures
    once = [*figures.values(), *bounds.values()]
    return once if len(once) <= _WRITTEN else [each for each in once if each.whose == "article"]


def _apart(places: Iterable[float], room: float) -> list[float]:
    """Return places for numbers on a logarithmic axis, with enough room between the numbers."""
    chosen: list[float] = []
    for place in sorted(set(places)):
        if not chosen or place > room * chosen[-1]:
            chosen.append(place)
    return chosen


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _named(text: str, unit: str) -> str:
    return f"{text}, {wording.typeset(f'1 {unit}')[2:]}" if unit else text


def _curve(claim: TestedClaim, mine: Sequence[TestedCase], steps: int, logarithmic: bool) -> list[tuple[float, float]]:
    """Return (value of the sweep, prediction) along one arm."""
    known = [(_at(each), claim.scenario_of(each), each) for each in mine if each.result.predicted]
    curve = [(at, each.result.predicted.number) for at, _, each in known if each.result.predicted]
    for (low, start, each), (high, end, _) in pairwise(known):
        for at in (np.geomspace if logarithmic else np.linspace)(low, high, steps + 1)[1:-1]:
            try:
                scenario = between(start, end, (float(at) - low) / (high - low))
            except NotBetween:
                break
            if each.case.prediction:
                curve.append((float(at), claim.predicted_in(scenario, each).number))
    return sorted(curve)
