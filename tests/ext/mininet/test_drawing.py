"""Networks of any form are drawn whole."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lab.ext.mininet.drawing import LABELLED, MOST, drawn
from lab.ext.mininet.networks import BuiltInterface, direction

SVG = "{http://www.w3.org/2000/svg}"


def wire(rate: str | None = "10 Mbit/s") -> dict[str, Any]:
    ideal = {"delay": "5 ms", "jitter": "0 s", "loss": 0, "reorder": 0, "duplicate": 0}
    return {**ideal, "rate": rate, "mtu": "1500 B", "limit": 50}


def network(nodes: int, links: list[tuple[int, int]], back: str = "10 Mbit/s") -> dict[str, Any]:
    return {
        "name": "drawn",
        "nodes": [{"name": f"n{number}", "kind": "switch" if number % 3 else "host"} for number in range(nodes)],
        "links": [
            {"name": f"l{a}-{b}", "ends": [{"node": f"n{a}"}, {"node": f"n{b}"}], "forward": wire(), "back": wire(back)}
            for a, b in links
        ],
    }


def parts(plain: dict[str, Any]) -> ET.Element:
    text = drawn(plain)
    return ET.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])


@given(st.data())
def test_every_node_and_link_is_drawn_and_no_two_nodes_overlap(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 30))
    number = st.integers(0, nodes - 1)
    links = data.draw(st.lists(st.tuples(number, number).filter(lambda ends: ends[0] != ends[1]), max_size=40))
    picture = parts(network(nodes, links))
    boxes = [[float(box.attrib[key]) for key in ("x", "y", "width", "height")] for box in picture.iter(f"{SVG}rect")]
    names = {text.text for text in picture.iter(f"{SVG}text")}
    assert len(boxes) == nodes
    assert {f"n{each}" for each in range(nodes)} <= names
    assert len(list(picture.iter(f"{SVG}path"))) == len(links)
    for (x1, y1, w1, h1), (x2, y2, w2, h2) in combinations(boxes, 2):
        assert x1 + w1 <= x2 or x2 + w2 <= x1 or y1 + h1 <= y2 or y2 + h2 <= y1
    width, height = map(float, picture.attrib["viewBox"].split()[2:])
    assert all(x >= 0 and x + w <= width and y >= 0 and y + h <= height for x, y, w, h in boxes)


def test_a_small_network_shows_what_its_links_do() -> None:
    assert "10 Mbit/s, delay 5 ms, limit 50" in drawn(network(2, [(0, 1)]))
    both = drawn(network(2, [(0, 1)], back="1 Mbit/s"))
    assert "10 Mbit/s, delay 5 ms, limit 50 (61.5 ms) →" in both or "← 10 Mbit/s" in both
    assert "1 Mbit/s" in both
    star = [(0, leaf) for leaf in range(1, LABELLED + 2)]
    assert "Mbit/s" not in drawn(network(LABELLED + 2, star))


def test_links_without_a_rate_and_without_an_interface_are_drawn() -> None:
    """A plain link of Mininet has no qdisc, and one whose interface the script removed has no settings."""
    built = network(2, [(0, 1)])
    built["links"][0] |= {"forward": direction(BuiltInterface(1500, [], [])), "back": direction(None)}
    picture = drawn(built)
    assert "unlimited, noqueue" in picture
    assert "removed" in picture


def test_what_cannot_be_drawn_is_said() -> None:
    assert drawn(network(0, [])) == "<p>The network has no nodes.</p>"
    assert "too large for a picture" in drawn(network(MOST + 1, []))
