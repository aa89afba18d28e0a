"""Draw a network as a small picture: hosts, links, and the settings of each direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from lab.report import overlays
from lab.report.layout import columns, direction

_BOX, _HEIGHT, _ROW = 84, 36, 130  # a node's least width and its height; the least distance between rows
_LETTER, _THIN = 7.4, 6.3  # about the width of a bold letter and of a normal one
_WIDTH, _STEP = 480, 290  # the picture's least width; the least distance between columns
_FAN = 0.55  # the place of a label along a slanting link
_LEADING = 14  # the distance between two lines of a label
_AROUND = 13  # the room between the labels of two links, one below the other
_BOW = 84  # the distance, in the middle, of links between the same two nodes
# The style is in the picture, not in the page's style sheet, so that Jupyter shows it too.
_STYLE = 'font-family="sans-serif" font-size="12" text-anchor="middle" fill="#1a1a1a" style="{widths}"'
_LEAST, _MOST = 0.75, 1.13  # shares of its width at which a picture is shown: letters of 9 to 13.6 px
_LINE = 'fill="#fff" stroke="#1a1a1a" stroke-width="1.4"'


def diagram(network: Mapping[str, Any], start: str) -> str:
    """Return an SVG of a network in plain form, with `start` on the left and the other nodes by their distance from it.

    The SVG works within a page and as a separate file.
    """
    found = columns(network, start)
    box = max(_BOX, *(round(_LETTER * len(node["name"])) + 14 for node in network["nodes"]))
    rows = max(len(column) for column in found)
    width = max(_WIDTH, box + (_STEP + box - _BOX) * (len(found) - 1))
    step = (width - box) / max(len(found) - 1, 1)
    carried = network.get("overlays", ())
    bows = _bows([*network["links"], *carried])
    bows = [bow or (_BOW if number >= len(network["links"]) else 0) for number, bow in enumerate(bows)]
    margin = max(map(abs, bows), default=0)
    row = _row(network["links"], step - box)
    places = {
        node: (box / 2 + step * x, 48 + margin + row * (y + (rows - len(column)) / 2))
        for x, column in enumerate(found)
        for y, node in enumerate(column)
    }
    height = 96 + 2 * margin + row * (rows - 1)
    links = "".join(_link(link, places, box, bow) for link, bow in zip(network["links"], bows, strict=False))
    links += "".join(
        _carried(link, places, bow) for link, bow in zip(carried, bows[len(network["links"]) :], strict=True)
    )
    nodes = "".join(_node(name, *places[name], box) for name in places)
    title = f"Topology {network['name']}: {', '.join(places)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="topology" viewBox="-1 0 {width + 2} {height:g}" '
        f'role="img" aria-label="{escape(title)}" '
        f"{_STYLE.format(widths=f'min-width: {_LEAST * width:.0f}px; max-width: {_MOST * width:.0f}px')}>"
        f"{links}{nodes}</svg>"
    )


def _node(name: str, x: float, y: float, box: float) -> str:
    return (
        f'<rect x="{x - box / 2:g}" y="{y - _HEIGHT / 2:g}" width="{box}" height="{_HEIGHT}" rx="5" {_LINE}/>'
        f'<text x="{x:g}" y="{y + 4.5:g}" font-weight="600">{escape(name)}</text>'
    )


def _row(links: Sequence[Mapping[str, Any]], room: float) -> float:
    """Return the distance between rows at which the labels of links that fan out do not overlap."""
    texts = [f"{direction(link[way])} →" for link in links for way in ("forward", "back")]
    lines = max((len(_lines(text, room)) for text in texts), default=1)
    return max(_ROW, (2 * _LEADING * lines + _AROUND) / _FAN)


def _bows(links: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the distance of each link's middle below a straight line: 0 unless other links join the same nodes."""
    pairs = [frozenset(end["node"] for end in link["ends"]) for link in links]
    return [_BOW * (pairs[:number].count(pair) - (pairs.count(pair) - 1) / 2) for number, pair in enumerate(pairs)]


def _link(link: Mapping[str, Any], places: Mapping[str, tuple[float, float]], box: float, bow: float) -> str:
    """Return a line with the forward direction's text above the line and the other direction's text below."""
    ends = [places[end["node"]] for end in link["ends"]]
    forward, back = link["forward"], link["back"]
    rightwards = ends[0][0] <= ends[1][0]
    (x1, y1), (x2, y2) = ends if rightwards else ends[::-1]
    above, below = (forward, back) if rightwards else (back, forward)
    along = 0.5 if y1 == y2 else _FAN  # where links that meet in one node are farther apart
    x, y = x1 + along * (x2 - x1), y1 + along * (y2 - y1) + bow
    line = f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" {_LINE}/>'
    if bow:
        line = _curve((x1, y1), (x2, y2), bow)
    ground = y1 != y2  # a slanting line would go through its own labels
    lines = [
        line,
        *_label(x, y - 7, f"{direction(above)} →", x2 - x1 - box, up=True, ground=ground),
        *_label(x, y + 16, f"← {direction(below)}", x2 - x1 - box, up=False, ground=ground),
    ]
    return "".join(lines)


def _carried(link: Mapping[str, Any], places: Mapping[str, tuple[float, float]], bow: float) -> str:
    """Return a dashed curve with the name and the kind of a link that others carry."""
    (x1, y1), (x2, y2) = sorted(places[end["node"]] for end in link["ends"])
    path = _curve((x1, y1), (x2, y2), bow, ' stroke-dasharray="5 4"')
    x, y = (x1 + x2) / 2, (y1 + y2) / 2 + bow + 4
    return path + "".join(_label(x, y, f"{link['name']}: {overlays.described(link)}", x2 - x1, up=True, ground=True))


def _curve(start: tuple[float, float], end: tuple[float, float], bow: float, style: str = "") -> str:
    """Return a curve whose middle is `bow` below the straight line, and flat there."""
    (x1, y1), (x2, y2) = start, end
    # the points that draw a curve are farther away than its middle, which is three quarters as far
    turns = [f"{x1 + share * (x2 - x1):g} {y1 + share * (y2 - y1) + bow / 0.75:g}" for share in (0.1, 0.9)]
    return f'<path d="M{x1:g} {y1:g} C{" ".join(turns)} {x2:g} {y2:g}" {_LINE.replace("#fff", "none")}{style}/>'


def _label(x: float, y: float, text: str, room: float, up: bool, ground: bool) -> list[str]:
    """Return the text in lines that fit between two nodes, with `ground` on a white rectangle."""
    lines = _lines(text, room)
    start = y - _LEADING * (len(lines) - 1) if up else y
    halo = 'stroke="#fff" stroke-width="4" paint-order="stroke"'
    width = _THIN * max(map(len, lines))
    patch = (
        f'<rect class="ground" x="{x - width / 2:g}" y="{start - 10:g}" width="{width:g}" '
        f'height="{_LEADING * len(lines)}" fill="#fff"/>'
    )
    return ([patch] if ground else []) + [
        f'<text x="{x:g}" y="{start + _LEADING * row:g}" {halo}>{escape(line)}</text>' for row, line in enumerate(lines)
    ]


def _lines(text: str, room: float) -> list[str]:
    lines = [""]
    for part in text.split(", "):
        if lines[-1] and _THIN * len(f"{lines[-1]}, {part}") > room:
            lines[-1] += ","
            lines.append(part)
        else:
            lines[-1] += f", {part}" if lines[-1] else part
    return lines
