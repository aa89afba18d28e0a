"""A guest has the memory that its network needs, and that of small ones does not depend on them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import pytest

from lab.errors import MachineError
from lab.guest.network import Network
from lab.guest.trial import Trial
from lab.runner.memory import GIVEN, MEMORY, given_memory, memory_for, memory_of
from lab.spec import topology
from lab.units import Size, to_plain


@cache
def pair() -> Network:
    return topology.parse("about: A pair.\nhosts: [a, b]\nlinks: {l: {ends: [a, b]}}\n", Path("pair.yaml")).network


def star(hosts: int) -> Network:
    """Return a network with so many hosts and a switch, which only their number makes different."""
    (link,), host = pair().links, pair().nodes[0]
    nodes = tuple(msgspec.structs.replace(host, name=f"h{number}") for number in range(hosts + 1))
    links = tuple(msgspec.structs.replace(link, name=f"l{number}") for number in range(hosts))
    return msgspec.structs.replace(pair(), nodes=nodes, links=links)


@pytest.mark.parametrize("hosts", [2, 100, 999])
def test_up_to_a_thousand_nodes_have_the_same(hosts: int) -> None:
    assert memory_of(star(hosts)) == MEMORY == Size.of("1 GiB")


@pytest.mark.long
def test_further_ones_bring_their_own() -> None:
    assert memory_of(star(1_300)).bytes - memory_of(star(1_100)).bytes == 200 * 320 * 1024


def test_a_trial_may_have_its_own_and_its_address_covers_it() -> None:
    plain = Trial(
        claim="mininet/large",
        arm="script",
        point="",
        source_sha256="",
        network=to_plain(star(2)),
        workload={},
        probes=[],
        middleboxes=[],
        kernel={"id": "1234"},
        on="uml",
        clock="virtual",
        seed=1,
        repeat=0,
        tools={},
    )
    large = msgspec.structs.replace(plain, kernel={"id": "1234"} | given_memory(Size.of("2 GiB")))
    assert memory_for(plain) == MEMORY
    assert memory_for(large) == Size.of("2 GiB")
    assert plain.address != large.address
    for wrong in ("2 GiB", 0, True, 1 << 40):
        with pytest.raises(MachineError, match="cannot have"):
            memory_for(msgspec.structs.replace(plain, kernel={GIVEN: wrong}))
