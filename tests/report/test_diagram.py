"""A picture of a network: each link has a line and labels of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.report.diagram import diagram
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
