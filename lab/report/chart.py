"""Draw lines and marks over time as a small SVG, with the page's own fonts and colours.

Figures in an article use matplotlib (`lab.report.drawing`). Pages for hundreds of trials need a faster method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10
from typing import Literal

_WIDTH, _LEFT, _RIGHT = 640, 76, 10  # pixels: the drawing, and the margins beside the panels
_HEIGHT, _GAP, _FOOT = 150, 34, 44  # a panel, the room above it for its name, and the room below the last one
_SIZE = 16.5  # of the text: 9 pixels on a phone, which shrinks the drawing to its width
_ACROSS = _WIDTH - _LEFT - _RIGHT
_LETTER, _SPACE = 10, 12  # pixels: about the width of a letter in a wide font, and the space between two names
_TICKS = 4  # about this many on each axis
_STEPS = (1, 2, 2.5, 5, 10)
_INK, _MUTED, _GRID = "var(--ink, #1a1a1a)", "var(--muted, #5d5d5d)", "var(--grid, #e2e2e2)"


@dataclass(frozen=True)
class Line:
    """Describes a line through points, in steps, or a set of vertical bars from one height to another."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]] = ()
    bars: Sequence[tuple[float, float, float]] = ()  # at, from, to
    shape: Literal["steps", "dots"] = "steps"


@dataclass(frozen=True)
class Panel:
    """Describes a panel with lines of one unit."""

    title: str
    lines: tuple[Line, ...]
    height: int = _HEIGHT
    from_zero: bool = True

    @property
    def unit(self) -> str:
        """Return the unit of the panel's values, from its title: 'goodput, bit/s' has bit/s."""
        _, comma, unit = self.title.partition(";")[0].rpartition(", ")
        return unit if comma else {"bytes": "B"}.get(unit, "")


def chart(panels: Sequence[Panel], x_label: str, alt: str, span: tuple[float, float]) -> str:
    """Return the panels, one above the other, over the same `span` of the horizontal axis."""
    low, high = span
    top, parts = 0.0, []
    for panel in panels:
        top += _GAP
        parts.append(_panel(panel, top, low, high))
        top += panel.height
    ticks = "".join(_time(_x(tick, low, high), top + 18, f"{tick:g}") for tick in _ticks(low, high))
    parts.append(f'<g class="times">{ticks}</g>')
    parts.append(_text(_LEFT + (_WIDTH - _LEFT - _RIGHT) / 2, top + 37, x_label, "middle"))
    return (
        f'<svg class="chart" role="img" aria-label="{escape(alt)}" viewBox="0 0 {_WIDTH} {top + _FOOT:g}" '
        f'data-low="{low:.9g}" data-high="{high:.9g}" '
        f'font-size="{_SIZE}" fill="{_INK}">{"".join(parts)}</svg>'
    )


def _panel(panel: Panel, top: float, low: float, high: float) -> str:
    heights = [y for line in panel.lines for _, y in line.points]
    heights += [y for line in panel.lines for _, *ends in line.bars for y in ends]
    least = 0.0 if panel.from_zero else min(heights, default=0.0)
    most = max(heights, default=1.0)
    most = most if most > least else least + 1
    most += 0.04 * (most - least)

    def y(value: float) -> float:
        return top + panel.height * (1 - (value - least) / (most - least))

    parts = [
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="{_GRID}"/>'
        + _text(_LEFT - 6, y(tick) + 5, short(tick), "end")
        for tick in _ticks(least, most)
    ]
    lines = [line for line in panel.lines if len(panel.lines) > 1 or not panel.title.startswith(line.name)]
    names = "".join(f'<tspan fill="{line.colour}" dx="{_SPACE}">{escape(line.name)}</tspan>' for line in lines)
    parts.append(f'<text x="{_start(panel):g}" y="{top - 10:g}">{escape(panel.title)}{names}</text>')
    # A picture within the picture: the page's script changes its view box to show a part of the time.
    parts.append(
        f'<svg class="plot" x="{_LEFT}" y="{top:g}" width="{_ACROSS}" height="{panel.height}" '
        f'viewBox="{_LEFT} {top:g} {_ACROSS} {panel.height}" preserveAspectRatio="none" '
        f'data-least="{least:.9g}" data-most="{most:.9g}" data-unit="{escape(panel.unit)}">'
    )
    parts += [_line(line, low, high, y) for line in panel.lines]
    parts.append("</svg>")
    return "".join(parts)


def _line(line: Line, low: float, high: float, y: Callable[[float], float]) -> str:
    """Return a line's path or paths, with its name for the page's script."""
    style = f'stroke="{line.colour}" fill="none" vector-effect="non-scaling-stroke"'
    parts = []
    if bars := "".join(f"M{_x(at, low, high):.1f} {y(start):.1f}V{y(end):.1f}" for at, start, end in line.bars):
        parts.append(f'<path d="{bars}" {style} stroke-width="1.6"/>')
    named = f'data-name="{escape(line.name)}"'
    if line.points and line.shape == "steps":
        parts.append(f'<path {named} d="{_steps(line.points, low, high, y)}" {style} stroke-width="1.6"/>')
    elif line.points:
        dots = "".join(f"M{_x(at, low, high):.1f} {y(value):.1f}h0" for at, value in line.points)
        parts.append(f'<path {named} d="{dots}" {style} stroke-width="4" stroke-linecap="round"/>')
    return "".join(parts)


def _start(panel: Panel) -> float:
    """Return the horizontal start of the names above a panel: its axis, or further left if the names are too long."""
    letters = len(panel.title) + sum(len(line.name) for line in panel.lines)
    return max(0.0, min(_LEFT, _WIDTH - _LETTER * letters - _SPACE * len(panel.lines)))


def _steps(points: Iterable[tuple[float, float]], low: float, high: float, y: Callable[[float], float]) -> str:
    path = ""
    for at, value in points:
        x = f"{_x(at, low, high):.1f}"
        path += f"H{x}V{y(value):.1f}" if path else f"M{x} {y(value):.1f}"
    return path


def _x(at: float, low: float, high: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (at - low) / ((high - low) or 1)


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers from `low` to `high`."""
    rough = (high - low) / _TICKS
    scale = 10 ** floor(log10(rough)) if rough > 0 else 1.0
    step = next((each * scale for each in _STEPS if each * scale >= rough), scale)
    first = -floor(-low / step)
    return [round(step * each, 12) for each in range(first, floor(high / step) + 1)]


def short(number: float) -> str:
    """Return a number with at most four digits and k, M or G."""
    for scale, sign in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(number) >= scale:
            return f"{number / scale:.4g}{sign}"
    return f"{number:.4g}"


def _time(x: float, y: float, text: str) -> str:
    """Return a tick's time below its place, or so far to the left that the drawing does not cut it."""
    return _text(min(x, _WIDTH - _LETTER * len(text) / 2), y, text, "middle")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_MUTED}">{escape(text)}</text>'
