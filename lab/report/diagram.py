"""A network as a small picture: hosts, links, and what each direction of a link does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

__all__ = ["diagram"]

_BOX, _HEIGHT, _ROW = 84, 36, 110  # of a node, and from one row to the next
_WIDTH, _STEP = 480, 270  # of the picture, and at least from one column to the next
_LEADING = 14  # from one line of a label to the next
# In the picture and not in the page's style sheet: Jupyter shows it too.
_STYLE = 'font-size="12" text-anchor="middle" fill="#1a1a1a" style="max-width: {width}px"'
_LINE = 'fill="#fff" stroke="#1a1a1a" stroke-width="1.4"'


def diagram(network: Mapping[str, Any], path: Sequence[str]) -> str:
    """SVG of a network in plain form, the sender (`path[0]`) at the left and the others by their distance from it."""
    columns = _columns(network, path[0])
    rows = max(len(column) for column in columns)
    width = max(_WIDTH, _BOX + _STEP * (len(columns) - 1))
    step = (width - _BOX) / max(len(columns) - 1, 1)
    places = {
        node: (_BOX / 2 + step * x, 48 + _ROW * (y + (rows - len(column)) / 2))
        for x, column in enumerate(columns)
        for y, node in enumerate(column)
    }
    height = 96 + _ROW * (rows - 1)
    links = "".join(_link(link, places) for link in network["links"])
    nodes = "".join(_node(name, *places[name]) for name in places)
    title = f"Topology {network['name']}: {', '.join(places)}"
    return (
        f'<svg class="topology" viewBox="-1 0 {width + 2} {height}" role="img" aria-label="{escape(title)}" '
        f"{_STYLE.format(width=round(1.13 * width))}>"
        f"{links}{nodes}</svg>"
    )


def _columns(network: Mapping[str, Any], start: str) -> list[list[str]]:
    """Node names by hops from `start`; what cannot be reached comes last."""
    names = [node["name"] for node in network["nodes"]]
    near = {name: set[str]() for name in names}
    for link in network["links"]:
        first, second = (end["node"] for end in link["ends"])
        near[first].add(second)
        near[second].add(first)
    columns, seen = [[start]], {start}
    while found := sorted({other for name in columns[-1] for other in near[name]} - seen):
        columns.append(found)
        seen.update(found)
    rest = [name for name in names if name not in seen]
    return [*columns, rest] if rest else columns


def _node(name: str, x: float, y: float) -> str:
    return (
        f'<rect x="{x - _BOX / 2:g}" y="{y - _HEIGHT / 2:g}" width="{_BOX}" height="{_HEIGHT}" rx="5" {_LINE}/>'
        f'<text x="{x:g}" y="{y + 4.5:g}" font-weight="600">{escape(name)}</text>'
    )


def _link(link: Mapping[str, Any], places: Mapping[str, tuple[float, float]]) -> str:
    """A line with the forward direction written above it and the other one below."""
    ends = [places[end["node"]] for end in link["ends"]]
    forward, back = link["forward"], link["back"]
    rightwards = ends[0][0] <= ends[1][0]
    (x1, y1), (x2, y2) = ends if rightwards else ends[::-1]
    above, below = (forward, back) if rightwards else (back, forward)
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    lines = [
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" {_LINE}/>',
        *_label(x, y - 7, f"{_direction(above)} →", x2 - x1 - _BOX, up=True),
        *_label(x, y + 16, f"← {_direction(below)}", x2 - x1 - _BOX, up=False),
    ]
    return "".join(lines)


def _label(x: float, y: float, text: str, room: float, up: bool) -> list[str]:
    """The text in as many lines as the room between two nodes makes of it."""
    lines = [""]
    for part in text.split(", "):
        if lines[-1] and 6.3 * len(f"{lines[-1]}, {part}") > room:
            lines[-1] += ","
            lines.append(part)
        else:
            lines[-1] += f", {part}" if lines[-1] else part
    start = y - _LEADING * (len(lines) - 1) if up else y
    return [f'<text x="{x:g}" y="{start + _LEADING * row:g}">{escape(line)}</text>' for row, line in enumerate(lines)]


def _direction(way: Mapping[str, Any]) -> str:
    """Rate, delay and what else is not as an ideal wire has it."""
    parts = [way["rate"] or "no rate"]
    if not str(way["delay"]).startswith("0 "):
        parts.append(f"delay {way['delay']}")
    if not str(way["jitter"]).startswith("0 "):
        parts.append(f"jitter {way['jitter']}")
    parts += [f"{name} {100 * way[name]:g} %" for name in ("loss", "reorder", "duplicate") if way[name]]
    return ", ".join([*parts, f"MTU {way['mtu']}", f"limit {way['limit']:,}"])
