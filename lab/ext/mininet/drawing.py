"""Draw a network: nodes by their distance from the middle, and in a small network the settings of the links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from lab.report import html
from lab.report.layout import direction, neighbours

LABELLED = 12  # links with labels
MOST = 400  # nodes
_LETTER = 6.6  # pixels: about the width of a letter
_HEIGHT, _GAP, _LEADING = 22, 6, 16  # pixels: of a node, between nodes, and between lines of a label
_CURVE = 56  # pixels: between a node and the straight part of its links
_MARGIN = 8
_LINE = 'fill="none" stroke="#1a1a1a" stroke-width="1.3"'
_HALO = 'stroke="#fff" stroke-width="3" paint-order="stroke"'


def drawn(network: Mapping[str, Any]) -> str:
    """Return the picture of a network in plain form, or a sentence for a network that is empty or too large."""
    names = [node["name"] for node in network["nodes"]]
    if not names:
        return "<p>The network has no nodes.</p>"
    if len(names) > MOST:
        return f"<p>A network of {len(names)} nodes is too large for a picture.</p>"
    return html.scrolled(_svg(network), "Topology")


def _svg(network: Mapping[str, Any]) -> str:
    columns = _columns(network)
    depth = {name: number for number, column in enumerate(columns) for name in column}
    # Each link arrives at its node that is farther from the middle, and has its label there.
    arriving: dict[str, list[tuple[str, list[str]]]] = {name: [] for name in depth}
    for link in network["links"]:
        ends = [end["node"] for end in link["ends"]]
        near, far = sorted(ends, key=depth.__getitem__)
        ways = (link["forward"], link["back"]) if ends[0] == near else (link["back"], link["forward"])
        arriving[far].append((near, _label(*ways) if len(network["links"]) <= LABELLED else []))
    rows = {name: max(_HEIGHT, sum(_room(lines) for _, lines in links)) + _GAP for name, links in arriving.items()}
    boxes = [_LETTER * max(map(len, column)) + 16 for column in columns]
    runs = [max((_LETTER * len(line) for name in column for _, lines in arriving[name] for line in lines), default=20)
            for column in columns]  # fmt: skip
    lefts = [_MARGIN]
    for number in range(1, len(columns)):
        lefts.append(round(lefts[-1] + boxes[number - 1] + _CURVE + runs[number]))
    height = max(sum(rows[name] for name in column) for column in columns)
    middles: dict[str, float] = {}
    for column in columns:
        spare = (height - sum(rows[name] for name in column)) / len(column)
        top = float(_MARGIN)
        for name in column:
            middles[name] = top + (rows[name] + spare) / 2
            top += rows[name] + spare
    parts = []
    for far, links in arriving.items():
        y = middles[far] - sum(_room(lines) for _, lines in links) / 2
        for near, lines in links:
            y += _room(lines) / 2
            right = lefts[depth[near]] + (boxes[depth[near]] if depth[near] < depth[far] else 0)
            parts.append(_link(right, middles[near], lefts[depth[far]], y, runs[depth[far]], lines))
            y += _room(lines) / 2
    kinds = {node["name"]: node["kind"] for node in network["nodes"]}
    for name, place in depth.items():
        round_ = _HEIGHT / 2 if kinds[name] == "host" else 3
        x, y, box = lefts[place], middles[name], boxes[place]
        parts.append(
            f'<rect x="{x:g}" y="{y - _HEIGHT / 2:g}" width="{box:g}" height="{_HEIGHT}" rx="{round_:g}" fill="#fff" '
            f'stroke="#1a1a1a" stroke-width="1.4"/>'
            f'<text x="{x + box / 2:g}" y="{y + 4.5:g}" text-anchor="middle" font-weight="600">{escape(name)}</text>'
        )
    width, whole = lefts[-1] + boxes[-1] + _MARGIN, height + 2 * _MARGIN
    said = f"{len(depth)} nodes and {len(network['links'])} links"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="topology" viewBox="0 0 {width:g} {whole:g}" role="img" '
        f'aria-label="{escape(said)}" font-family="sans-serif" font-size="12" fill="#1a1a1a" '
        f'style="min-width: {0.8 * width:.0f}px; max-width: {1.1 * width:.0f}px">{"".join(parts)}</svg>'
    )


def _room(lines: list[str]) -> float:
    """Return the height of a link's straight part with its label, which is above and below the line."""
    return 2 * _LEADING * max(len(lines), 1) if lines else _HEIGHT


def _label(out: Mapping[str, Any], back: Mapping[str, Any]) -> list[str]:
    """Return what both directions of a link do, or one line for each direction if they differ."""
    there, here = (direction(way).replace(", MTU 1500 B", "") for way in (out, back))
    return [there] if there == here else [f"{there} →", f"← {here}"]


def _link(x1: float, y1: float, x2: float, y2: float, run: float, lines: list[str]) -> str:
    start = x2 - run
    bend = (x1 + start) / 2 if x1 < start else start - _CURVE / 2
    texts = [
        f'<text x="{x2 - run / 2:g}" y="{y:g}" text-anchor="middle" {_HALO}>{escape(line)}</text>'
        for line, y in zip(lines, (y2 - 5, y2 + 14), strict=False)
    ]
    curve = f"M{x1:g} {y1:g} C{bend:g} {y1:g} {bend:g} {y2:g} {start:g} {y2:g} H{x2:g}"
    return f'<path d="{curve}" {_LINE}/>{"".join(texts)}'


def _columns(network: Mapping[str, Any]) -> list[list[str]]:
    """Return the nodes by their distance from the middle of their part of the network, largest parts first."""
    near = {node["name"]: [other for other, _ in neighbours(network, node["name"])] for node in network["nodes"]}
    columns: list[list[str]] = []
    for part in sorted(_parts(near), key=lambda levels: -sum(map(len, levels))):
        for number, level in enumerate(part):
            columns += [[]] if number == len(columns) else []
            columns[number] += level
    return columns


def _parts(near: Mapping[str, list[str]]) -> Iterator[list[list[str]]]:
    left = dict.fromkeys(near)
    while left:
        levels = _levels(near, _middle(near, next(iter(left))))
        yield levels
        for name in (name for level in levels for name in level):
            del left[name]


def _levels(near: Mapping[str, list[str]], start: str) -> list[list[str]]:
    """Return the nodes by the number of hops from `start`, with the neighbours of a node side by side."""
    found, seen = [[start]], {start}
    while further := list(dict.fromkeys(other for name in found[-1] for other in near[name] if other not in seen)):
        found.append(further)
        seen.update(further)
    return found


def _middle(near: Mapping[str, list[str]], start: str) -> str:
    """Return the node in the middle of a long path. In a tree, no path is longer."""
    levels = _levels(near, _levels(near, start)[-1][0])
    path = [levels[-1][0]]
    for level in reversed(levels[:-1]):
        path.append(next(name for name in level if path[-1] in near[name]))
    return path[len(path) // 2]
