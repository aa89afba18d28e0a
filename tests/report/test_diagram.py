"""A picture of a network: each link has a line and labels of its own."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from lab.report.diagram import diagram
from lab.spec import find
from lab.spec.topology import parse
from lab.units import to_plain

TOPOLOGY = """
about: Links between the same two hosts.
hosts: [sender, receiver]
links:
{links}
"""


@pytest.mark.parametrize("count", [1, 2, 3])
def test_links_between_the_same_nodes_are_apart(count: int, tmp_path: Path) -> None:
    links = "".join(f"  path{number}: {{ends: [sender, receiver], rate: 10 Mbit/s}}\n" for number in range(count))
    network = parse(TOPOLOGY.format(links=links), tmp_path / "net.yaml").network
    drawn = diagram(to_plain(network), "sender")
    heights = [float(y) for y in re.findall(r'<text x="[\d.]+" y="([-\d.]+)" stroke', drawn)]
    assert len(set(heights)) == len(heights) >= 2 * count, "no label is over another one"
    assert all(abs(one - other) >= 14 for one in heights for other in heights if one is not other)
    assert drawn.count("<line") == count % 2, "one of an odd number is straight"
    assert drawn.count("<path") == count - count % 2
    (height,) = map(float, re.findall(r'viewBox="-1 0 [\d.]+ ([\d.]+)"', drawn))
    assert min(heights) >= 10
    assert max(heights) <= height - 4


FAN = """
about: Two links that leave one host.
hosts: [sender, receiver, rival]
links:
  near: {ends: [sender, receiver], rate: 10 Mbit/s}
  far: {ends: [sender, rival], rate: 10 Mbit/s}
"""


def test_no_line_goes_through_its_own_labels(tmp_path: Path) -> None:
    drawn = diagram(to_plain(parse(FAN, tmp_path / "net.yaml").network), "sender")
    found = re.findall(r'class="ground" x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)" height="([\d.]+)"', drawn)
    patches = [tuple(map(float, each)) for each in found]
    texts = [(float(x), float(y)) for x, y in re.findall(r'<text x="([\d.]+)" y="([-\d.]+)" stroke', drawn)]
    assert len(patches) == 4, "two links, each with a label for each way"
    for x, y in texts:
        assert any(left < x < left + wide and top < y < top + high for left, top, wide, high in patches)
    tops = sorted((top, top + high) for _, top, _, high in patches)
    assert all(end <= start for (_, end), (start, _) in pairwise(tops)), "none covers another"


def test_no_label_of_a_topology_covers_another() -> None:
    for name in find.topologies():
        network = find.topology(name).network
        drawn = diagram(to_plain(network), network.nodes[0].name)
        found = re.findall(r'class="ground" x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)" height="([\d.]+)"', drawn)
        patches = [tuple(map(float, each)) for each in found]
        for (left, top, wide, high), (other, above, width, height) in combinations(patches, 2):
            apart = left + wide <= other or other + width <= left or top + high <= above or above + height <= top
            assert apart, (name, top, above)
