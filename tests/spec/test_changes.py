"""An experiment changes a topology in the topology's own words, and is told what it got wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab.spec.changes import Changes
from lab.spec.errors import SpecError
from lab.spec.topology import Topology
from lab.units import Duration, Rate

Parse = Callable[[str], Topology]
TEXT = """\
about: Two hosts.
hosts: {a: {sysctls: {net.ipv4.tcp_sack: 0}}, b: }
links:
  l:
    ends: [a, b]
    rate: 1 Gbit/s
    forward: {delay: 100 ms, limit: 10000}
"""


@pytest.fixture
def net(topology: Parse) -> Topology:
    return topology(TEXT)


def test_nothing_changed_is_the_same(net: Topology) -> None:
    assert net.resolve() == net.resolve(Changes()) == net.network


def test_one_field_of_one_direction(net: Topology) -> None:
    link = net.resolve(Changes(links={"l": {"forward": {"limit": 1000}}})).links[0]
    assert (link.forward.limit, link.forward.delay) == (1000, Duration.of("100 ms"))
    assert link.back == net.network.links[0].back


def test_a_shared_field_holds_for_both_directions(net: Topology) -> None:
    link = net.resolve(Changes(links={"l": {"delay": Duration.of("5 ms")}})).links[0]
    assert link.forward.delay == link.back.delay == Duration.of("5 ms")


def test_none_unsets(net: Topology) -> None:
    link = net.resolve(Changes(links={"l": {"rate": None, "forward": {"limit": None}}})).links[0]
    assert link.forward.rate is None
    assert link.forward.limit > 10000


def test_sysctls_hold_for_all_and_hosts_for_one(net: Topology) -> None:
    network = net.resolve(
        Changes(
            sysctls={"net.ipv4.tcp_sack": 1},
            hosts={"b": {"sysctls": {"net.ipv4.tcp_sack": 0}, "offloads": {"gro": True}}},
        )
    )
    assert [network.node(name).sysctls["net.ipv4.tcp_sack"] for name in "ab"] == ["1", "0"]
    assert network.interfaces("b")[0].offloads.gro


def test_the_later_change_wins(net: Topology) -> None:
    slow, fast = (Changes(links={"l": {"rate": rate}}) for rate in ("1 Mbit/s", "2 Mbit/s"))
    assert net.resolve(slow, fast).links[0].forward.rate == Rate.of("2 Mbit/s")


def test_the_topology_itself_stays(net: Topology) -> None:
    before = net.resolve()
    net.resolve(Changes(links={"l": {"forward": {"delay": "1 ms"}}}, sysctls={"net.ipv4.tcp_ecn": 1}))
    assert net.resolve() == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (Changes(links={"k": {}}), "unknown link 'k'"),
        (Changes(hosts={"c": {}}), "unknown host 'c'"),
        (Changes(links={"l": {"rate": "-1 Mbit/s"}}), "links.l.rate: rate '-1 Mbit/s' is negative"),
        (Changes(links={"l": {"forward": {"limt": 1}}}), "links.l.forward.limt: unknown key; did you mean 'limit'?"),
        (Changes(links={"l": {"forward": 3}}), "links.l.forward: should be a mapping of keys to values"),
        (Changes(links={"l": {"jitter": "1 s"}}), "links.l.jitter: 1 s is more than the delay of 100 ms"),
        (Changes(sysctls={"tcp_sack": 1}), "sysctls.tcp_sack: is not a sysctl of a network namespace"),
    ],
)
def test_a_wrong_change_is_told(net: Topology, changes: Changes, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        net.resolve(changes)
    assert message in str(caught.value)
