"""Links that other links carry, VRFs, declared routes and multicast: what they resolve to, and the mistakes in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError
from lab.guest.network import Bonding, Network, Route
from lab.guest.workload import Bulk, Netcat, Ping
from lab.model import KernelTraits, Scenario
from lab.report.overlays import notes
from lab.spec import document, names
from lab.spec.changes import Changes
from lab.spec.errors import SpecError
from lab.spec.schema import json_schema
from lab.spec.topology import Topology, parse
from lab.units import Duration, Size, from_plain, to_plain

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
        ("{to: b, via: r1, mtu: 9000 B}", "routes.0.mtu: 9000 B is more than the MTU of 'up1', 1500 B"),
        ("{to: b, via: [r1, r1.up1]}", "'r1.up1' is the same next hop as 'r1'; give that one a weight instead"),
        ("{to: b, via: [10.0.1.2, r1]}", "'r1' is the same next hop as '10.0.1.2'"),
        ("{to: up1, via: r1}", "routes.0.to: 'a' is in 10.0.1.0/24 itself; leave out via, or name a single node"),
        ("{to: 10.0.1.0/24, via: r1}", "routes.0.to: 'a' is in 10.0.1.0/24 itself"),
        ("{to: b, via: 10.0.1.77}", "routes.0.via: no node has the address 10.0.1.77; name a neighbour"),
        ("{to: 10.0.1.1, via: r1}", "routes.0.to: '10.0.1.1' is an address of 'a' itself; leave the route out"),
        ("{to: b, advmss: 9999999999 B}", "routes.0.advmss: an advmss of 9999999999 B is not between 1 B and 65495 B"),
        ("{to: b, via: {r1: null}}", "via.r1: no value is given; give one, or leave the key out"),
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
        ("{to: 10.0.2.5/24, via: r1}", "'10.0.2.5/24' has bits after its prefix; write '10.0.2.0/24'"),
        ("{to: b, via: 10.0.1.1}", "10.0.1.1 is an address of 'a' itself"),
        ("{to: b, via: 10.0.1.255}", "10.0.1.255 is the network or broadcast address of 10.0.1.0/24"),
        ("{to: b, via: 10.0.1.0}", "10.0.1.0 is the network or broadcast address of 10.0.1.0/24"),
        ("{to: b, via: 'fd00:1::2%eth0'}", "unknown node 'fd00:1::2%eth0'"),
        ("{to: 'fd00:9::1%eth0', via: r1}", "unknown destination 'fd00:9::1%eth0'"),
        (
            "{to: b, via: r1, metric: 1024}, {to: fd00:3::/64, via: r1}, {to: fd00:3::/64, via: r2, metric: 1024}",
            "routes.2.to: a second route to fd00:3::/64",
        ),
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
        ("routers: {r: {vrfs: {a-name-of-21-letters-x: [l]}}}", "use up to 15 letters"),
        (
            "routers: [r]\nmulticast: {239.0.0.5: {source: a, receivers: []}}",
            "receivers: is empty; name at least one node",
        ),
        (
            "routers: [r]\nmulticast: {'ff3e::1': {source: a, receivers: [b]}, 'ff3e:0::1': {source: a}}",
            "multicast.ff3e:0::1: is the same group as ff3e::1; leave one of them out",
        ),
        ("routers: {r: {vrfs: {red: [l], blue: [l]}}}", "already in the VRF 'red'"),
        ("routers: {r: {vrfs: {eth0: [l]}}}", "the name of an interface"),
        ("routers: [r]\nmulticast: {'ff3e::1%eth0': {source: a, receivers: [b]}}", "is not an address"),
        ("routers: [r]\nmulticast: {239.0.0.5: {source: a, receivers: [b, a]}}", "receivers.1: 'a' is the source"),
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


CHAIN = """
about: x
hosts: {{a: {{routes: [{routes}]}}, h: , b: }}
routers: [r]
switches: [s]
links:
  near: {{ends: [a, h]}}
  far: {{ends: [h, b]}}
  lan: {{ends: [a, s]}}
  rest: {{ends: [s, r]}}
{links}
"""


@pytest.mark.parametrize(
    ("routes", "message"),
    [
        (
            "{to: b, via: h}",
            "'h' is a host, which does not forward; name a router, or set its sysctl net.ipv4.ip_forward",
        ),
        ("{to: default, via: h}", "'h' is a host, which does not forward"),
    ],
)
def test_a_next_hop_forwards(topology: Parse, routes: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        topology(CHAIN.format(routes=routes, links=""))
    assert any(message in problem.message for problem in error.value.problems), error.value
    forwarding = "sysctls: {net.ipv4.ip_forward: 1, net.ipv6.conf.all.forwarding: 1}"
    for text in (
        CHAIN.format(routes=routes, links=forwarding),
        CHAIN.format(routes="{to: h.far, via: h}", links=""),  # h is the end, and need not forward
    ):
        assert next(route.via for route in topology(text).network.node("a").routes if route.declared) == "10.0.1.2"


def test_several_next_hops_take_the_least_mtu(topology: Parse) -> None:
    text = DIAMOND.format(routes="{to: b, via: [r1, r2]}").replace(
        "up2: {ends: [a, r2]}", "up2: {ends: [a, r2], mtu: 1280 B, back: {mtu: 1500 B}}"
    )
    found = [route.mtu for route in topology(text).network.node("a").routes if route.hops]
    assert found == [Size(1280)] * 2


def test_a_group_and_a_declared_route_are_one_too_many(topology: Parse) -> None:
    text = DIAMOND.format(routes="{to: 239.1.2.3, via: r1}") + "multicast:\n  239.1.2.3: {source: a, receivers: [b]}\n"
    with pytest.raises(SpecError) as error:
        topology(text)
    message = "hosts.a.routes: the group 239.1.2.3 already gives 'a' a route; leave out its declared route to 239.1.2.3"
    assert [problem.message for problem in error.value.problems] == [message]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x: {ends: [a, s], CHANGES}",
            "'s' is a switch, which cannot ask for smaller packets; give it only to `forward`",
        ),
        (
            "x: {ends: [a, r], CHANGES}\n  v: {ends: [a, r], vlan: 3, over: x}",
            "the link carries 'v', whose MTU does not",
        ),
        ("x: {ends: [a, r], CHANGES}\n  t: {ends: [a, r], tunnel: gre}", "the link carries 't'"),
        ("x: {ends: [a, r], CHANGES}\n  y: {ends: [a, r]}\n  p: {ends: [a, r], bond: [x, y]}", "the link carries 'p'"),
        ("x: {ends: [a, r], CHANGES}\n  y: {ends: [a, r]}", "has several next hops, which share one MTU; leave it out"),
        ("x: {ends: [a, s], forward: {CHANGES}}\n  y: {ends: [a, s]}", "'a' has several links to this subnet"),
    ],
)
def test_an_mtu_changes_only_where_routes_follow(topology: Parse, text: str, message: str) -> None:
    routes = "{to: b, via: [r.x, r.y]}" if "next hops" in message else ""
    spare = "" if "[a, s]" in text else "  spare: {ends: [a, s]}\n"
    base = f"about: x\nhosts: {{a: {{routes: [{routes}]}}, b: }}\nrouters: [r]\nswitches: [s]\nlinks:\n"
    with pytest.raises(SpecError) as error:
        topology(
            f"{base}  {text.replace('CHANGES', 'changes: [{at: 1 s, mtu: 1280 B}]')}\n"
            f"{spare}  m: {{ends: [s, r]}}\n  l: {{ends: [r, b]}}\n"
        )
    assert any("changes.0.mtu" in each.message and message in each.message for each in error.value.problems), (
        error.value
    )


@pytest.mark.parametrize("name", ["wires", "localhost"])
def test_a_reserved_name_is_refused(topology: Parse, name: str) -> None:
    with pytest.raises(SpecError, match=f"no node can be called '{name}'"):
        topology(f"about: x\nhosts: [{name}, b]\nlinks: {{l: {{ends: [{name}, b]}}}}\n")


def test_a_probe_has_bounds(topology: Parse) -> None:
    text = f"{PLAIN}  x: {{ends: [a, b]}}\n  y: {{ends: [a, b]}}\n  p: {{ends: [a, b], bond: [x, y], probe: 2000 h}}\n"
    with pytest.raises(SpecError, match=r"should be whole milliseconds, from 10 ms to 2147483\.647 s"):
        topology(text)


def test_the_schema_takes_what_the_reader_takes() -> None:
    schema = jsonschema.Draft202012Validator(json_schema())
    for text in (OFFICE, DIAMOND.format(routes="{to: b, via: [r1, r2]}, {to: default, via: {r1: 2, r2: 1}}")):
        schema.validate(document.parse(text, _path()).data)


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


PLAIN = "about: x\nhosts: [a, b]\nrouters: [c]\nlinks:\n  l: {ends: [c, b]}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x: {ends: [a, c]}\n  y: {ends: [a, b]}\n  p: {ends: [a, b], bond: [x, y]}", "'x' joins a and c"),
        ("x: {ends: [a, b]}\n  p: {ends: [a, b], bond: [p, x]}", "'p' is not a wire"),
        ("x: {ends: [a, b]}\n  v: {ends: [a, b], vlan: 10, over: v}", "in a circle: v over v"),
        (
            """x: {ends: [a, b], forward: {mtu: 1500 B}, back: {mtu: 9000 B}}
  y: {ends: [a, b], forward: {mtu: 1500 B}, back: {mtu: 9000 B}}
  p: {ends: [a, b], bond: [x, y]}""",
            "'x' has a different MTU in each direction",
        ),
        (
            "x: {ends: [a, b], mtu: 1400 B}\n  y: {ends: [a, b]}\n  p: {ends: [a, b], bond: [x, y]}",
            "the MTUs of 'y' and 'x' differ",
        ),
        ("x: {ends: [a, b], mtu: 68 B}\n  t: {ends: [a, b], tunnel: vxlan}", "its MTU would be 18 B, less than 68 B"),
        (
            """x: {ends: [c, a]}
  y: {ends: [c, b]}
  t: {ends: [c, a], tunnel: vxlan}
  u: {ends: [c, b], tunnel: vxlan}""",
            "a VXLAN of the same node has the id 1: 't'; give it a different id",
        ),
    ],
)
def test_what_the_kernel_would_refuse_is_refused(topology: Parse, text: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        topology(f"{PLAIN}  {text}\n")
    assert any(message in problem.message for problem in error.value.problems), error.value


def test_a_link_over_nothing_is_no_circle(topology: Parse) -> None:
    text = "x: {ends: [a, b]}\n  v: {ends: [a, b], vlan: 1, over: u}\n  u: {ends: [a, b], vlan: 2, over: nope}\n"
    with pytest.raises(SpecError) as error:
        topology(f"{PLAIN}  {text}")
    assert [problem.message for problem in error.value.problems] == ["links.u.over: unknown link 'nope'"]


LINKS = ("x", "y", "v", "p", "nope")


@given(st.lists(st.sampled_from(LINKS), min_size=2, max_size=3), st.sampled_from(LINKS), st.sampled_from(LINKS))
def test_any_links_may_be_named_below(bond: list[str], over: str, other: str) -> None:
    text = (
        f"x: {{ends: [a, b]}}\n  y: {{ends: [a, b]}}\n  p: {{ends: [a, b], bond: [{', '.join(bond)}]}}\n"
        f"  v: {{ends: [a, b], vlan: 1, over: {over}}}\n  w: {{ends: [a, c], vlan: 2, over: {other}}}\n"
    )
    with suppress(SpecError):
        parse(f"{PLAIN}  {text}", _path())


def test_two_vxlans_of_a_node_have_ids(topology: Parse) -> None:
    text = (
        "  x: {ends: [c, a]}\n  y: {ends: [c, b]}\n  t: {ends: [c, a], tunnel: vxlan}\n"
        "  u: {ends: [c, b], tunnel: vxlan, id: 2}\n"
    )
    assert [each.number for each in topology(PLAIN + text).network.overlays] == [1, 2]


def test_a_vlan_is_over_the_link_that_it_names(topology: Parse) -> None:
    text = (
        "about: x\nhosts: [a, b]\nswitches: [s]\nlinks:\n  x: {ends: [a, s]}\n  z: {ends: [a, s]}\n"
        "  y: {ends: [b, s]}\n  v: {ends: [a, b], vlan: 10, over: z}\n"
    )
    (overlay,) = topology(text).network.overlays
    assert overlay.below == (("eth1",), ("eth0",))


def test_a_tag_within_a_vxlan_takes_its_bytes(topology: Parse) -> None:
    text = (
        "  x: {ends: [a, b]}\n  t: {ends: [a, b], tunnel: vxlan}\n  v: {ends: [a, b], vlan: 1, over: t}\n"
        "  w: {ends: [a, b], vlan: 2, over: v}\n  u: {ends: [a, b], vlan: 3, over: x}\n"
    )
    whole = topology("about: x\nhosts: [a, b]\nlinks:\n" + text).network
    found = {each.name: each.ends[0].mtu.bytes for each in whole.overlays}
    assert found == {"u": 1500, "t": 1450, "v": 1446, "w": 1442}


SITES = """
about: A tunnel between two sites.
hosts:
  desk: {{routes: [{routes}]}}
  printer:
routers: [gate, site]
links:
  near: {{ends: [desk, gate]}}
  far: {{ends: [gate, site]}}
  inside: {{ends: [site, printer]}}
  office: {{ends: [desk, site], tunnel: gre}}
"""


@pytest.mark.parametrize(
    "routes", ["", "{to: inside, via: site.office}", "{to: default, via: site.office}, {to: site.far, via: gate}"]
)
def test_a_tunnel_finds_its_other_end(topology: Parse, routes: str) -> None:
    assert topology(SITES.format(routes=routes)).network.overlays


@pytest.mark.parametrize(
    "routes",
    [
        "{to: far, via: site.office}",
        "{to: default, via: site.office}",
        "{to: 10.0.2.0/24, via: [gate, site.office]}",
        "{to: site.far, via: site.office}, {to: site.far, via: gate, metric: 5}",
    ],
)
def test_no_tunnel_carries_itself(topology: Parse, routes: str) -> None:
    message = "the route from 'desk' to site.far, the tunnel's other end, leads through a tunnel"
    with pytest.raises(SpecError, match=message):
        topology(SITES.format(routes=routes))


def test_a_tunnel_to_a_place_without_a_way_is_refused(topology: Parse) -> None:
    text = (
        "about: x\nhosts: [a, b, c, d]\nlinks: {x: {ends: [a, b]}, y: {ends: [c, d]}, t: {ends: [a, c], tunnel: gre}}"
    )
    with pytest.raises(SpecError, match=r"no route leads from 'a' to c\.y, the tunnel's other end"):
        topology(text)


@pytest.mark.parametrize("name", ["default", "all", "gre0"])
def test_a_vrf_has_a_name_that_linux_allows(topology: Parse, name: str) -> None:
    text = f"about: x\nhosts: [a, b]\nrouters: {{r: {{vrfs: {{{name}: [x]}}}}}}\n"
    with pytest.raises(SpecError, match="choose a different name"):
        topology(text + "links: {x: {ends: [a, r]}, y: {ends: [r, b]}}")


DETOUR = """
about: A fast wire, and a slow way to the server's other address.
hosts: [a, b]
routers: [r]
links:
  {first}
  y: {{ends: [a, r], rate: 1 Mbit/s, delay: 50 ms}}
  z: {{ends: [r, b], rate: 1 Mbit/s, delay: 50 ms}}
  {last}
"""
FAST = "x: {ends: [a, b], rate: 1 Gbit/s, delay: 1 ms}"


def test_no_prediction_takes_another_way_than_the_packets(topology: Parse) -> None:
    network = topology(DETOUR.format(first=FAST, last="")).network
    for server in ("b", "b.x"):
        scenario = Scenario.of(network, ("a", "b"), KernelTraits(), Bulk(client="a", server=server))
        assert (len(scenario.forward), scenario.client) == (1, "sender")
    scenario = Scenario.of(network, ("b", "a"), KernelTraits(), Netcat(client="a.x", server="b.x"))
    assert scenario.client == "receiver"
    with pytest.raises(InputError, match=r"no prediction covers the way to 'b.z'"):
        Scenario.of(network, ("a", "b"), KernelTraits(), Bulk(client="a", server="b.z"))
    slow = topology(DETOUR.format(first="", last=FAST)).network  # the server's first address is behind the router
    with pytest.raises(InputError, match="no prediction covers the way to 'b'"):
        Scenario.of(slow, ("a", "b"), KernelTraits(), Bulk(client="a", server="b"))


def test_a_wire_in_a_bond_is_no_destination(topology: Parse) -> None:
    text = """
about: x
hosts: {a: {routes: [{to: x, via: b}]}, b: }
links: {x: {ends: [a, b]}, y: {ends: [a, b]}, p: {ends: [a, b], bond: [x, y]}}
"""
    with pytest.raises(SpecError, match="'x' is part of the bond 'p'; name the bond"):
        topology(text)


@pytest.mark.parametrize(("group", "is_right"), [("239.1.2.3", True), ("ff3e::1", False)])
def test_ipv6_multicast_leaves_through_the_first_link(topology: Parse, group: str, is_right: bool) -> None:
    text = f"""
about: x
hosts: [a, b, c]
routers: [r]
links: {{n: {{ends: [a, c]}}, x: {{ends: [a, r]}}, y: {{ends: [b, r]}}}}
multicast: {{"{group}": {{source: a, receivers: [b]}}}}
"""
    if is_right:
        assert topology(text).network.node("r").multicast
    else:
        with pytest.raises(SpecError, match="from its first link, n; name a different link first"):
            topology(text)
    swapped = text.replace("n: {ends: [a, c]}, x: {ends: [a, r]}", "x: {ends: [a, r]}, n: {ends: [a, c]}")
    (entry,) = topology(swapped).network.node("r").multicast
    assert entry.group == group


@pytest.mark.parametrize("count", [31, 32])
def test_a_router_has_room_for_32_interfaces(topology: Parse, count: int) -> None:
    """One for the source, and one for each receiver."""
    names = [f"h{number}" for number in range(count)]
    links = "\n".join(f"  l{name}: {{ends: [{name}, r]}}" for name in ("a", *names))
    listed = ", ".join(names)
    text = f"about: x\nhosts: [a, {listed}]\nrouters: [r]\nlinks:\n{links}\n"
    text += f"multicast: {{239.1.2.3: {{source: a, receivers: [{listed}]}}}}\n"
    if count < 32:
        assert topology(text).network.node("r").multicast
    else:
        with pytest.raises(SpecError, match="'r' would forward at 33 interfaces; Linux has room for 32"):
            topology(text)


def test_a_group_changes_no_prediction(topology: Parse) -> None:
    text = "about: x\nhosts: [a, b]\nrouters: [r]\nlinks: {x: {ends: [a, r]}, y: {ends: [r, b]}}\n"
    network = topology(text + "multicast: {239.1.2.3: {source: a, receivers: [b]}}").network
    assert Scenario.of(network, ("a", "b"), KernelTraits(), Bulk(client="a", server="b")).forward
    assert [name for name, _ in notes(to_plain(network))] == ["multicast"]
