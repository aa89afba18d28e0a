"""A guest has the memory that its network needs, and that of small ones does not depend on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.guest.network import Network
from lab.runner.memory import MEMORY, memory_of
from lab.spec import topology
from lab.units import Size


def star(hosts: int) -> Network:
    names = [f"h{number}" for number in range(hosts)]
    links = [
        f"  {name}-s: {{ends: {'{h0: {addresses: [10.0.0.1/16]}, s: {}}' if name == 'h0' else f'[{name}, s]'}}}"
        for name in names
    ]
    text = "\n".join(["about: A star.", f"hosts: [{', '.join(names)}]", "switches: [s]", "links:", *links])
    return topology.parse(text, Path("star.yaml")).network


@pytest.mark.parametrize("hosts", [2, 100, 999])
def test_up_to_a_thousand_nodes_have_the_same(hosts: int) -> None:
    assert memory_of(star(hosts)) == MEMORY == Size.of("1 GiB")


def test_further_ones_bring_their_own() -> None:
    assert memory_of(star(1_300)).bytes - memory_of(star(1_100)).bytes == 200 * 320 * 1024
