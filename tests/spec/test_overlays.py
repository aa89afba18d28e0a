"""Links that other links carry, VRFs, declared routes and multicast: what they resolve to, and the mistakes in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from lab.errors import InputError
from lab.guest.network import Bonding, Network, Route
from lab.guest.workload import Ping
from lab.model import KernelTraits, Scenario
from lab.spec import document, names
from lab.spec.changes import Changes
from lab.spec.errors import SpecError
from lab.spec.schema import json_schema
from lab.spec.topology import Topology
from lab.units import Duration, from_plain, to_plain

Parse = Callable[[str], Topology]

OFFICE = """
about: A bond to a router, tunnels and VLANs.
hosts: [a, c]
routers: [r]
links:
  red: {ends: [a, r], vlan: 10, over: pair}
  one: {ends: [a, r], rate: 100 Mbit/s}
  two: {ends: [r, a], rate: 100 Mbit/s}
  pair: {ends: [a, r], bond: [one, two], mode: active-backup, probe: 100 ms}
  far: {ends: [r, c], mtu: 1400 B}
  gre: {ends: [a, c], tunnel: gre, id: 9}
  ipip: {ends: [a, c], tunnel: ipip}
  lan: {ends: [a, c], tunnel: vxlan}
"""


def test_overlays_resolve(topology: Parse) -> None:
    network = topology(OFFICE).network
    found = {overlay.name: overlay for overlay in network.overlays}
    assert [*found] == ["pair", "red", "gre", "ipip", "lan"], "each after the ones that carry it"
    assert [end.name for end in network.interfaces("a")] == [
        *("eth0", "eth1", "bond0", "bond0.10", "gre1", "ipip1", "vxlan1"),
    ]
    pair = found["pair"]
    assert (pair.mode, pair.probe, pair.below) == (
        Bonding.ACTIVE_BACKUP,
        Duration.of("100 ms"),
        (("eth0", "eth1"),) * 2,
    )
    assert {end.mac for link in network.links[:2] for end in link.ends if end.node == "a"} == {pair.ends[0].mac}
    assert all(not end.addresses for link in network.links[:2] for end in link.ends)
    assert found["gre"].outer == (network.address("a"), network.address("c"))
    mtus = {name: tuple(end.mtu.bytes for end in overlay.ends) for name, overlay in found.items()}
    assert mtus["gre"] == (1472, 1372), "each end knows the MTU of its own wire"
    assert (mtus["ipip"], mtus["lan"], mtus["red"]) == ((1480, 1380), (1450, 1350), (1500, 1500))
    assert [":" in text for text in found["ipip"].ends[0].addresses] == [False], "IPIP carries IPv4 only"
    assert network.address("c.lan") == found["lan"].ends[1].addresses[0].split("/")[0]
    assert network.node("c.lan").name == "c"
    assert from_plain(json.loads(json.dumps(to_plain(network))), Network) == network


def test_a_topology_of_wires_has_the_record_that_it_had(topology: Parse) -> None:
    """The records of earlier trials have these keys, and trials' addresses hash them."""
    plain = to_plain(
        topology("about: x\nhosts: [a, b]\nrouters: [r]\nlinks: {l: {ends: [a, r]}, m: {ends: [r, b]}}").network
    )
    assert sorted(plain) == ["links", "name", "nodes"]
    assert sorted(plain["nodes"][0]) == ["kind", "name", "routes", "sysctls"]
    route = {"to": "10.0.2.0/24", "interface": "eth0", "via": "10.0.1.2", "mtu": None, "advmss": None}
    assert plain["nodes"][0]["routes"][0] == route


def test_an_arm_changes_an_overlay(topology: Parse) -> None:
    network = topology(OFFICE).resolve(Changes(links={"pair": {"mode": "balance-rr", "probe": None}}))
    assert next(each.mode for each in network.overlays if each.name == "pair") is Bonding.BALANCE_RR


DIAMOND = """
about: x
hosts:
  a: {{routes: [{routes}]}}
  b:
routers: [r1, r2]
links:
  up1: {{ends: [a, r1]}}
  up2: {{ends: [a, r2]}}
  down1: {{ends: [r1, b]}}
  down2: {{ends: [r2, b]}}
"""


def routes(topology: Parse, text: str) -> list[Route]:
    found = topology(DIAMOND.format(routes=text)).network.node("a").routes
    return [route for route in found if ":" not in route.to]


def test_a_declared_route_replaces_the_automatic_one(topology: Parse) -> None:
    assert [(each.to, each.via) for each in routes(topology, "{to: down1, via: r2, metric: 7}")] == [
        ("10.0.4.0/24", "10.0.2.2"),
        ("10.0.3.0/24", "10.0.2.2"),
    ]


def test_default_replaces_all_automatic_routes(topology: Parse) -> None:
    assert [(each.to, each.via) for each in routes(topology, "{to: default, via: r2}")] == [("0.0.0.0/0", "10.0.2.2")]


def test_a_route_without_a_next_hop_takes_the_automatic_one(topology: Parse) -> None:
    (found,) = (each for each in routes(topology, "{to: b, initcwnd: 20}") if each.declared)
    assert (found.to, found.via, found.initcwnd) == ("10.0.3.2/32", "10.0.1.2", 20)


def test_several_next_hops_have_weights(topology: Parse) -> None:
    (found,) = (each for each in routes(topology, "{to: b, via: {r1: 3, r2.up2: 1}}") if each.declared)
    assert [(hop.interface, hop.via, hop.weight) for hop in found.hops] == [
        ("eth0", "10.0.1.2", 3),
        ("eth1", "10.0.2.2", 1),
    ]


def test_a_vrf_has_routes_of_its_own(topology: Parse) -> None:
    network = topology(
        "about: x\nhosts: [a, b, c]\nrouters: {r: {vrfs: {red: [la, lb], blue: [lc]}}}\n"
        "links:\n  la: {ends: [a, r]}\n  lb: {ends: [b, r]}\n  lc: {ends: [c, r]}"
    ).network
    assert [(vrf.name, vrf.table, vrf.interfaces) for vrf in network.node("r").vrfs] == [
        ("red", 1001, ("eth0", "eth1")),
        ("blue", 1002, ("eth2",)),
    ]
    assert [route.to for route in network.node("a").routes if ":" not in route.to] == ["10.0.2.0/24"]
    assert network.node("c").routes == ()


def test_a_group_has_a_tree(topology: Parse) -> None:
    network = topology(DIAMOND.format(routes="") + "multicast:\n  239.1.2.3: {source: a, receivers: [b]}\n").network
    (entry,) = network.node("r1").multicast
    assert (entry.source, entry.interface, entry.out) == ("10.0.1.1", "eth0", ("eth1",))
    assert ("239.1.2.3/32", "eth0") in [(route.to, route.interface) for route in network.node("a").routes]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("  p: {ends: [a, r], bond: [one, x]}", 8, "bond.1: unknown link 'x'"),
        ("  p: {ends: [a, r], bond: [one, far]}", 8, "'far' joins r and b, but the bond joins a and r"),
        ("  p: {ends: [a, r], bond: [one]}", 8, "at least two wires"),
        ("  p: {ends: [a, r], bond: [one, two], rate: 1 Gbit/s}", 8, "rate: other links carry this bond"),
        ("  p: {ends: [a, r], bond: [one, two], hash: layer2}", 8, "it is for 802.3ad"),
        ("  p: {ends: [a, r], bond: [one, two]}\n  q: {ends: [a, r], bond: [two, one]}", 9, "already in a bond"),
        ("  p: {ends: [a, r], bond: [one, two]}\n  v: {ends: [a, r], vlan: 1, over: one}", 9, "part of the bond 'p'"),
        (
            "  v: {ends: [a, r], vlan: 1, over: w}\n  w: {ends: [a, r], vlan: 2, over: v}",
            8,
            "in a circle: v over w over v",
        ),
        ("  v: {ends: [a, r], vlan: 5, over: one}\n  w: {ends: [a, r], vlan: 5, over: one}", 9, "is 'v' already"),
        ("  v: {ends: [a, b], vlan: 5, over: one}", 8, "'one' does not lead to 'b'"),
        ("  v: {ends: [a, r], vlan: 5}", 8, "name the link that carries the VLAN"),
        ("  v: {ends: [a, r], vlan: 4095, over: one}", 8, "less than or equal to 4094"),
        (
            "  t: {ends: [a, b], tunnel: gre}\n  u: {ends: [a, b], tunnel: gre}",
            9,
            "is 't' already; give it a different id",
        ),
        ("  t: {ends: [a, b], tunnel: ipip, id: 4}", 8, "an ipip tunnel has no id; leave it out"),
        ("  t: {ends: [a, b], tunnel: ipip}\n  v: {ends: [a, b], vlan: 4, over: t}", 9, "not frames with a tag"),
        ("  t: {ends: [a, b], mode: 802.3ad}", 8, "mode: only a bond has it"),
    ],
)
def test_a_mistake_of_an_overlay_is_named(topology: Parse, text: str, line: int, message: str) -> None:
    base = (
        "about: x\nhosts: [a, b]\nrouters: [r]\nlinks:\n"
        "  one: {ends: [a, r]}\n  two: {ends: [a, r]}\n  far: {ends: [r, b]}\n"
    )
    with pytest.raises(SpecError) as error:
        topology(base + text)
    assert any(problem.line == line and message in problem.message for problem in error.value.problems), error.value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{to: b, via: b}", "routes.0.via: 'b' is not a neighbour of 'a'; use r1, r2"),
        ("{to: b, via: zz}", "unknown node 'zz'"),
        ("{to: b, via: 10.9.9.9}", "no link of 'a' has a subnet with 10.9.9.9"),
        ("{to: zz, via: r1}", "unknown destination 'zz'"),
        ("{to: a, via: r1}", "'a' is this node itself"),
        ("{to: default}", "name the next hop with via"),
        ("{to: fd09::/64, via: 10.0.1.2}", "no next hop has an address of IPv6"),
        ("{to: b, via: r1}, {to: b, via: r2}", "routes.1.to: a second route to 10.0.3.2/32"),
        ("{via: r1}", "to: missing; give a destination"),
        ("{to: b, via: [r1, r1]}", "has a next hop twice"),
        ("{to: b, via: r1, initcwnd: 0}", "greater than or equal to 1"),
        ("{to: b, nexthop: r1}", "unknown key"),
    ],
)
def test_a_mistake_of_a_route_is_named(topology: Parse, text: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        topology(DIAMOND.format(routes=text))
    assert [problem.line for problem in error.value.problems if message in problem.message] == [4], error.value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("routers: {r: {vrfs: {red: [x]}}}", "'x' is not a link of 'r'"),
        ("routers: {r: {vrfs: {red: [l], blue: [l]}}}", "already in the VRF 'red'"),
        ("routers: {r: {vrfs: {eth0: [l]}}}", "the name of an interface"),
        ("routers: [r]\nmulticast: {10.0.0.1: {source: a, receivers: [b]}}", "is not a multicast address"),
        ("routers: [r]\nmulticast: {224.0.0.5: {source: a, receivers: [b]}}", "no router forwards 224.0.0.5"),
        ("routers: [r]\nmulticast: {239.0.0.5: {source: a, receivers: [z]}}", "unknown node 'z'"),
        (
            "routers: {r: {vrfs: {red: [l]}}}\nmulticast: {239.0.0.5: {source: a, receivers: [b]}}",
            "there is no path from 'a'",
        ),
    ],
)
def test_a_mistake_of_a_vrf_or_a_group_is_named(topology: Parse, text: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        topology(f"about: x\nhosts: [a, b]\nlinks: {{l: {{ends: [a, r]}}, m: {{ends: [r, b]}}}}\n{text}")
    assert any(message in problem.message for problem in error.value.problems), error.value


def test_the_schema_takes_what_the_reader_takes() -> None:
    for text in (OFFICE, DIAMOND.format(routes="{to: b, via: [r1, r2]}, {to: default, via: {r1: 2, r2: 1}}")):
        jsonschema.validate(document.parse(text, _path()).data, json_schema())


def _path() -> Any:
    from pathlib import Path

    return Path("net.yaml")


def test_a_task_may_name_an_end(topology: Parse) -> None:
    network = topology(OFFICE).network
    assert [*names.mistakes(network, [Ping(client="a", server="c.gre")], any_control=False)] == []
    assert "unknown host 'c.nope'" in next(
        names.mistakes(network, [Ping(client="a", server="c.nope")], any_control=False)
    )


@pytest.mark.parametrize(
    "text", [OFFICE, DIAMOND.format(routes="{to: b, via: r2}"), DIAMOND.format(routes="") + "neighbours: asked"]
)
def test_no_prediction_is_made_where_the_path_is_not_the_shortest(topology: Parse, text: str) -> None:
    network = topology(text).network
    ends = network.nodes[0].name, network.nodes[1].name
    with pytest.raises(InputError, match="no prediction covers"):
        Scenario.of(network, ends, KernelTraits(), Ping(client=ends[0], server=ends[1]))
