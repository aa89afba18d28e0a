"""Bonds, VLANs, tunnels, VRFs and routes of shell scripts and containerlab files: what they become in a topology."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError
from lab.ext.importing.importing import ImportedTopology, ImportOptions, read
from lab.guest.network import Bonding, Carried, Kind, Overlay
from lab.spec import topology as topologies
from lab.units import Duration
from tests.ext.importing.conftest import Imports

TWO_WIRES = """\
ip netns add a
ip netns add b
ip link add a1 netns a type veth peer name b1 netns b
ip link add a2 netns a type veth peer name b2 netns b
"""
BOND = """\
for s in a b; do
  ip -n $s link add bond0 type bond mode {mode}
  ip -n $s link set ${{s}}1 master bond0
  ip -n $s link set dev ${{s}}2 up master bond0
  ip -n $s link set bond0 up
done
ip -n a addr add 10.9.0.1/24 dev bond0
ip -n b addr add 10.9.0.2/24 dev bond0
"""


def overlays(found: ImportedTopology) -> dict[str, Overlay]:
    """The links that other links carry, by name. The topology's text passes the check, too."""
    assert topologies.parse(found.text, Path("again.yaml")).network.overlays == found.topology.network.overlays
    return {each.name: each for each in found.topology.network.overlays}


def said(found: ImportedTopology) -> list[tuple[int, str]]:
    return [(each.line, each.message) for each in found.untaken]


@pytest.mark.parametrize(
    ("mode", "taken"),
    [
        ("balance-rr", Bonding.BALANCE_RR),
        ("1", Bonding.ACTIVE_BACKUP),
        ("active-backup miimon 100", Bonding.ACTIVE_BACKUP),
        ("802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4", Bonding.LACP),
    ],
)
def test_a_bond(imports: Imports, mode: str, taken: Bonding) -> None:
    found = imports(TWO_WIRES + BOND.format(mode=mode))
    bond = overlays(found)["bond0"]
    assert (bond.kind, bond.mode, found.untaken) == (Carried.BOND, taken, ())
    assert bond.below == (("eth0", "eth1"), ("eth0", "eth1"))
    assert [end.addresses[0] for end in bond.ends] == ["10.9.0.1/24", "10.9.0.2/24"]
    assert (bond.hash == "layer3+4") == (taken is Bonding.LACP)


def test_the_options_of_a_bond(imports: Imports) -> None:
    """The primary comes first, and ARP checks the links. `ip link set type bond` and /sys change the bond."""
    found = imports(
        TWO_WIRES
        + BOND.format(mode="active-backup arp_interval 100 arp_ip_target 10.9.0.2")
        + "ip -n a link set bond0 type bond primary a2\n"
        + "ip -n a link set bond0 mtu 1400\nip -n b link set bond0 mtu 1400\n"
    )
    bond = overlays(found)["bond0"]
    assert bond.below[0] == ("eth1", "eth0")
    assert (bond.probe, bond.ends[0].mtu.bytes, found.untaken) == (Duration.of("100 ms"), 1400, ())


SYSFS = """\
ip link add bond0 type bond
echo balance-rr > /sys/class/net/bond0/bonding/mode
echo +eth1 > /sys/class/net/bond0/bonding/slaves
ifenslave bond0 eth2
"""


def test_older_commands_of_a_bond_and_cards_without_another_end(imports: Imports) -> None:
    """The cards of a machine lead to one receiver, which has the bond's other end."""
    found = imports(SYSFS)
    bond = overlays(found)["bond0"]
    assert [end.node for end in bond.ends] == ["sender", "receiver"]
    assert said(found) == [(1, "bond0: receiver is assumed to have the bond's other end")]


FANNED = """\
topology:
  nodes:
    leaf1: {kind: nokia_srlinux}
    leaf2: {kind: nokia_srlinux}
    server:
      kind: linux
      exec:
        - ip link add bond0 type bond mode 802.3ad
        - ip link set eth1 master bond0
        - ip link set eth2 master bond0
        - ip addr add 10.7.0.2/24 dev bond0
        - ip route replace default via 10.7.0.1
  links:
    - endpoints: [leaf1:e1-1, server:eth1]
    - endpoints: [leaf2:e1-1, server:eth2]
    - endpoints: [leaf1:e1-2, leaf2:e1-2]
"""


def test_a_bond_to_two_nodes_becomes_two_links(imports: Imports) -> None:
    """The first has the address, and the router at its other end the address of the next hop."""
    found = imports(FANNED, "net.clab.yml")
    assert found.topology.network.overlays == ()
    link = found.topology.network.links[0]
    assert [end.addresses[0] for end in link.ends] == ["10.7.0.1/24", "10.7.0.2/24"]
    (message,) = [message for line, message in said(found) if line == 8]
    assert "its links lead to leaf1 and leaf2, and a bond here joins two nodes" in message


def test_a_bond_to_one_router_of_another_kind(imports: Imports) -> None:
    found = imports(FANNED.replace("leaf2:e1-1", "leaf1:e1-3"), "net.clab.yml")
    bond = overlays(found)["bond0"]
    assert [end.addresses[0] for end in bond.ends] == ["10.7.0.2/24", "10.7.0.1/24"]
    assert (8, "bond0: leaf1 is assumed to have the bond's other end") in said(found)


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("balance-xor", "the mode balance-xor of bond0: 802.3ad takes its place"),
        ("balance-alb", "the mode balance-alb of bond0: 802.3ad takes its place"),
        ("802.3ad xmit_hash_policy encap3+4", "the hash encap3+4 of bond0"),
        ("balance-rr packets_per_slave 9", "packets_per_slave of bond0 has no counterpart"),
    ],
)
def test_what_a_bond_cannot_be(imports: Imports, mode: str, message: str) -> None:
    found = imports(TWO_WIRES + BOND.format(mode=mode))
    assert "bond0" in overlays(found)
    assert {line for line, _ in said(found)} == {6}
    assert message in found.untaken[0].message


VLANS = """\
ip netns add a
ip netns add b
ip link add va netns a type veth peer name vb netns b
ip -n a link add link va name va.7 type vlan id 7
ip -n b link add name tagged link vb type vlan proto 802.1q id 7
ip -n a addr add 10.7.0.1/24 dev va.7
ip -n b addr add 10.7.0.2/24 dev tagged
ip -n a addr add 10.1.0.1/24 dev va
"""


def test_a_vlan(imports: Imports) -> None:
    found = imports(VLANS)
    vlan = overlays(found)["va-7"]
    assert (vlan.kind, vlan.number, found.untaken) == (Carried.VLAN, 7, ())
    assert [end.addresses[0] for end in vlan.ends] == ["10.7.0.1/24", "10.7.0.2/24"]


def test_a_vlan_over_a_vlan_and_over_a_bond(imports: Imports) -> None:
    text = TWO_WIRES + BOND.format(mode="balance-rr")
    for space in "ab":
        text += f"ip netns exec {space} vconfig add bond0 5\n"
        text += f"ip -n {space} link add l bond0.5 name inner type vlan id 6\n"
    found = overlays(imports(text))
    assert {name: each.number for name, each in found.items()} == {"bond0": 0, "bond0-5": 5, "inner": 6}
    assert found["inner"].below == (("bond0.5",), ("bond0.5",))


SWITCHED = """\
topology:
  nodes:
    br: {kind: bridge}
    gw:
      kind: linux
      exec:
        - ip link add link eth1 name eth1.5 type vlan id 5
        - ip link add link eth1 name eth1.8 type vlan id 8
        - ip addr add 10.5.0.1/24 dev eth1.5
        - ip addr add 10.8.0.1/24 dev eth1.8
    one:
      kind: linux
      exec: [ip link add link eth1 name eth1.5 type vlan id 5, ip addr add 10.5.0.2/24 dev eth1.5,
             ip route replace default via 10.5.0.1]
    two:
      kind: linux
      exec: [ip link add link eth1 name eth1.8 type vlan id 8, ip addr add 10.8.0.2/24 dev eth1.8,
             ip route replace default via 10.8.0.1]
  links:
    - endpoints: [br:p1, gw:eth1]
    - endpoints: [br:p2, one:eth1]
    - endpoints: [br:p3, two:eth1]
"""


def test_vlans_across_a_switch(imports: Imports) -> None:
    found = imports(SWITCHED, "net.clab.yml")
    assert {(each.ends[0].node, each.ends[1].node, each.number) for each in overlays(found).values()} == {
        ("gw", "one", 5),
        ("gw", "two", 8),
    }
    assert found.untaken == ()
    assert found.topology.network.node("gw").kind is Kind.ROUTER


def test_a_vlan_with_many_ends_loses_its_tag(imports: Imports) -> None:
    found = imports(SWITCHED.replace("eth1.8", "eth1.5").replace("id 8", "id 5"), "net.clab.yml")
    assert found.topology.network.overlays == ()
    assert any("has 3 ends, and here it joins two nodes" in message for _, message in said(found))
    addresses = [text for link in found.topology.network.links for end in link.ends for text in end.addresses]
    assert {"10.5.0.1/24", "10.5.0.2/24"} <= set(addresses)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("ip -n a link add link va name va.9 type vlan id 9", "va.9: b is assumed to have the VLAN's other end"),
        ("ip -n a link add link nowhere name x.9 type vlan id 9", "x.9: no link of this file carries this VLAN"),
        (
            "ip -n a link add link va name va.9 type vlan id 4095",
            "4095 is more than 4094, the largest number",
        ),
        ("ip -n a link add link va name v.9 type vlan id 9 protocol 802.1ad", "the tag has the type of 802.1Q"),
        ("ip -n a link add link va name m type macvlan mode bridge", "m: a second device on this link"),
        ("bridge vlan add dev va vid 7", "give each VLAN its own switch"),
    ],
)
def test_what_a_vlan_cannot_be(imports: Imports, command: str, message: str) -> None:
    found = imports(f"{VLANS}{command}\n")
    assert [line for line, text in said(found) if message in text] == [9]
    assert "va-7" in overlays(found)


TUNNEL = """\
for s in a r b; do ip netns add $s; done
ip netns exec r sysctl -w net.ipv4.ip_forward=1
ip link add other netns a type veth peer name x netns r
ip link add va netns a type veth peer name ra netns r
ip link add vb netns b type veth peer name rb netns r
ip -n a addr add 10.1.0.1/24 dev va
ip -n r addr add 10.1.0.2/24 dev ra
ip -n b addr add 10.2.0.1/24 dev vb
ip -n r addr add 10.2.0.2/24 dev rb
ip -n a route add default via 10.1.0.2
ip -n b route add default via 10.2.0.2
"""


@pytest.mark.parametrize(
    ("one", "other", "kind", "number", "mtu"),
    [
        ("ip link add t type gre", "ip link add t type gre", Carried.GRE, 0, 1476),
        ("ip link add t type gre key 42", "ip tunnel add t mode gre key 0.0.0.42", Carried.GRE, 42, 1472),
        ("ip tunnel add t mode ipip", "ip link add name t type ipip ttl 64", Carried.IPIP, 0, 1480),
        ("ip link add t type vxlan id 9 dstport 4789", "ip l a t type vxlan vni 9 nolearning", Carried.VXLAN, 9, 1450),
    ],
)
def test_a_tunnel(imports: Imports, one: str, other: str, kind: Carried, number: int, mtu: int) -> None:
    """Its outer addresses are the file's: the links that have them come first."""
    found = imports(
        TUNNEL
        + f"ip netns exec a {one} local 10.1.0.1 remote 10.2.0.1\n"
        + f"ip netns exec b {other} local 10.2.0.1 remote 10.1.0.1\n"
        + "ip -n a addr add 10.99.0.1 peer 10.99.0.2 dev t\nip -n b addr add 10.99.0.2 peer 10.99.0.1/32 dev t\n"
        + "ip -n a route add 10.50.0.0/16 dev t\n"
    )
    tunnel = overlays(found)["t"]
    assert (tunnel.kind, tunnel.number, tunnel.outer) == (kind, number, ("10.1.0.1", "10.2.0.1"))
    assert {end.mtu.bytes for end in tunnel.ends} == {mtu}
    assert [end.addresses[0] for end in tunnel.ends] == ["10.99.0.1/30", "10.99.0.2/30"]
    assert found.untaken == ()


def test_a_route_through_a_tunnel(imports: Imports) -> None:
    """A route with only a device goes to the tunnel's other end, which is a router."""
    found = imports(
        TUNNEL
        + "ip link add lan netns b type veth peer name e netns c\n"
        + "ip -n b addr add 10.3.0.1/24 dev lan\nip -n c addr add 10.3.0.2/24 dev e\n"
        + "ip -n a link add g type gre local 10.1.0.1 remote 10.2.0.1\n"
        + "ip -n b link add g type gre local 10.2.0.1 remote 10.1.0.1\n"
        + "ip -n a addr add 10.99.0.1/30 dev g\nip -n b addr add 10.99.0.2/30 dev g\n"
        + "ip -n a route add 10.3.0.0/24 dev g advmss 1400 initrwnd 20\n"
    )
    (route,) = [each for each in found.topology.network.node("a").routes if each.declared]
    assert (route.to, route.interface, route.via) == ("10.3.0.0/24", "gre1", "10.99.0.2")
    assert (str(route.advmss), route.initrwnd) == ("1400 B", 20)
    assert found.topology.network.node("b").kind is Kind.ROUTER
    assert found.untaken == ()


MESH = """\
topology:
  nodes:
    gw: {kind: linux, exec: [ip addr add 10.0.1.1/24 dev e1, ip addr add 10.0.2.1/24 dev e2,
         ip addr add 10.0.3.1/24 dev e3]}
    v1: {kind: linux, exec: [ip addr add 10.0.1.2/24 dev e1, ip route replace default via 10.0.1.1,
         ip addr add 10.1.0.1/24 dev lan, ip link add t type KIND local 10.0.1.2,
         ip route add 10.2.0.0/24 via 10.0.2.2 dev t onlink]}
    v2: {kind: linux, exec: [ip addr add 10.0.2.2/24 dev e1, ip route replace default via 10.0.2.1,
         ip addr add 10.2.0.1/24 dev lan, ip link add t type KIND local 10.0.2.2]}
    v3: {kind: linux, exec: [ip addr add 10.0.3.2/24 dev e1, ip route replace default via 10.0.3.1,
         ip addr add 10.3.0.1/24 dev lan, ip link add t type KIND local 10.0.3.2,
         ip route add 10.2.0.0/24 via 10.0.2.2 dev t onlink]}
    h1: {kind: linux}
    h2: {kind: linux}
    h3: {kind: linux}
  links:
    - endpoints: [v1:lan, h1:e]
    - endpoints: [v2:lan, h2:e]
    - endpoints: [v3:lan, h3:e]
    - endpoints: [v1:e1, gw:e1]
    - endpoints: [v2:e1, gw:e2]
    - endpoints: [v3:e1, gw:e3]
"""


@pytest.mark.parametrize(("kind", "numbers"), [("ipip", [0, 0, 0]), ("vxlan id 5", [5, 6, 7])])
def test_a_tunnel_with_three_ends_becomes_one_for_each_pair(imports: Imports, kind: str, numbers: list[int]) -> None:
    found = imports(MESH.replace("KIND", kind), "net.clab.yml")
    made = overlays(found)
    assert [each.number for each in made.values()] == numbers
    assert {each.outer for each in made.values()} == {
        ("10.0.1.2", "10.0.2.2"),
        ("10.0.1.2", "10.0.3.2"),
        ("10.0.2.2", "10.0.3.2"),
    }
    for node, tunnel in (("v1", "t"), ("v3", "t-3")):
        (route,) = [each for each in found.topology.network.node(node).routes if each.declared]
        assert route.via in [end.addresses[0].split("/")[0] for end in made[tunnel].ends if end.node == "v2"]
    assert len(found.untaken) == 3
    assert all("a tunnel with 3 ends: here, one tunnel for each pair" in message for _, message in said(found))


def test_a_tunnel_through_a_later_address_is_named(imports: Imports) -> None:
    """Both addresses of `a` cannot come first: the second tunnel leaves from a different one."""
    text = TUNNEL + "ip -n a addr add 10.3.0.1/24 dev other\n"
    text += "ip -n a link add g type gre local 10.3.0.1 remote 10.2.0.1\n"
    text += "ip -n b link add g type gre local 10.2.0.1 remote 10.3.0.1\n"
    text += "ip -n a link add i type ipip local 10.1.0.1 remote 10.2.0.1\n"
    text += "ip -n b link add i type ipip local 10.2.0.1 remote 10.1.0.1\n"
    text += "ip -n a link set i mtu 1300\n"
    found = imports(text)
    assert set(overlays(found)) == {"g", "i"}
    assert said(found) == [
        (15, "i: its packets come from 10.3.0.1, the first address of a, instead of 10.1.0.1"),
        (17, "an MTU of 1300 B for i: it follows from the links below, 1480 B; set it in a route"),
    ]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("link add g type gre local 10.1.0.1 remote 10.2.0.1", "g: no gre of this file is the tunnel's other end"),
        ("link add g type gre local 10.1.0.1", "give it a remote address"),
        ("link add g type gretap local 10.1.0.1 remote 10.2.0.1", "use a tunnel of the kind vxlan"),
        ("link add g type wireguard", "use a tunnel of the kind gre"),
        ("link add g type vxlan id 16777216", "16777216 is more than 16777215"),
        ("link add g type gre remote fd00::1", "the lab's tunnels go through IPv4"),
        ("link add g type gre remote 10.2.0.300", "'10.2.0.300' does not appear to be an IPv4 or IPv6 address"),
        ("tunnel add g mode sit remote 10.2.0.1", "use a tunnel of the kind gre, which carries IPv6, too"),
        ("link add g type dummy", "no interface without a link"),
    ],
)
def test_what_a_tunnel_cannot_be(imports: Imports, command: str, message: str) -> None:
    found = imports(f"{TUNNEL}ip -n a {command}\nip -n a addr add 10.98.0.1/24 dev g\n")
    assert [line for line, text in said(found) if message in text] == [12]
    assert overlays(found) == {}


VRFS = """\
for s in a b c d; do ip netns add $s; done
ip netns add edge
ip netns exec edge sysctl -w net.ipv4.ip_forward=1
ip -n edge link add red type vrf table 10
ip -n edge link add dev 1blue type vrf table 20
n=1
for s in a b c d; do
  ip link add e netns $s type veth peer name $s netns edge
  ip -n edge addr add 10.0.$n.1/24 dev $s
  ip -n $s addr add 10.0.$n.2/24 dev e
  ip -n $s route add default via 10.0.$n.1
  n=$((n + 1))
done
ip -n edge link set a master red
ip -n edge link set b vrf red
ip -n edge link set dev c master 1blue
ip -n edge link set dev d master 1blue
"""


def test_vrfs(imports: Imports) -> None:
    found = imports(
        VRFS
        + "ip -n edge route add 10.77.0.0/16 via 10.0.2.2 vrf red metric 5\n"
        + "ip -n edge route add table 20 unreachable default metric 4278198272\n"
        + "ip -n edge route add 10.88.0.0/16 nexthop via 10.0.4.2 weight 3 nexthop via 10.0.3.2 table 20\n"
    )
    edge = found.topology.network.node("edge")
    assert {vrf.name: vrf.interfaces for vrf in edge.vrfs} == {"red": ("eth0", "eth1"), "vrf1blue": ("eth2", "eth3")}
    assert found.untaken == ()
    assert "{red: [a-edge, b-edge], vrf1blue: [c-edge, d-edge]}" in found.text


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("route add 10.9.0.0/16 via 10.0.1.2 vrf green", "this file has no such VRF"),
        ("route add 10.9.0.0/16 via 10.0.1.2 table 77", "a topology has the main table, and one for each of its vrfs"),
        ("rule add from 10.0.1.0/24 table 10", "declare vrfs"),
        ("route add 239.1.0.0/16 dev a", "declare the group's source and receivers under multicast"),
        ("route add 10.9.0.0/16 dev nowhere", "the next hop through nowhere is not in this file"),
        ("route add 10.9.0.0/16 via inet6 fd00::1", "a different IP version"),
        ("route add 10.9.0.0/16", "a route needs a next hop"),
        ("route add 10.9.0.0/16 via", "via of a route has no value"),
        ("route add blackhole 10.9.0.0/16", "use a firewall as a middlebox"),
        ("route add 10.9.0.0/16 encap mpls 5 via 10.0.1.2", "encap of a route"),
    ],
)
def test_routes_that_a_topology_cannot_have(imports: Imports, command: str, message: str) -> None:
    found = imports(f"{VRFS}ip -n edge {command}\n")
    assert [line for line, text in said(found) if message in text] == [18]


GROUPS = """\
for s in s one two r q; do ip netns add $s; done
for r in r q; do ip netns exec $r sysctl -w net.ipv4.ip_forward=1; done
ip link add e netns s type veth peer name s netns r
ip link add e netns one type veth peer name one netns r
ip link add q netns r type veth peer name r netns q
ip link add e netns two type veth peer name two netns q
ip -n s addr add 10.0.1.2/24 dev e
ip -n r addr add 10.0.1.1/24 dev s
ip -n s route add 239.0.0.0/8 dev e
ip netns exec r smcroutectl add s 10.0.1.2 239.1.2.3 one q
ip netns exec q smcroutectl add r 10.0.1.2 239.1.2.3 two
"""


def test_multicast(imports: Imports) -> None:
    """The receivers are where the routers' entries lead, through other routers that forward the group."""
    found = imports(GROUPS)
    assert found.untaken == ()
    assert "multicast:\n  239.1.2.3: {source: s, receivers: [one, two]}\n" in found.text
    overlays(found)
    (entry,) = found.topology.network.node("r").multicast
    assert (entry.source, entry.interface, entry.out) == ("10.0.1.2", "eth0", ("eth1", "eth2"))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("r smcroutectl add s 10.0.1.99 239.1.2.4 one", "its source 10.0.1.99 is not in this file"),
        ("r smcroutectl add s 239.1.2.4 one", "needs a source and the group"),
        ("r smcroutectl add q 10.0.1.1 239.1.2.3 one", "a topology's group has one source"),
        ("r smcroute -a s 10.0.1.2 239.1.2.4 nowhere", "lead to no node that could receive it"),
        ("r smcroutectl add s 10.0.1.2 10.0.0.9 one", "10.0.0.9 is not a multicast address"),
        ("r smcroutectl add", "a word is missing"),
    ],
)
def test_what_a_group_cannot_be(imports: Imports, command: str, message: str) -> None:
    found = imports(f"{GROUPS}ip netns exec {command}\n")
    assert [line for line, text in said(found) if message in text] == [12]


def test_a_route_to_a_group_without_its_routers_is_named(imports: Imports) -> None:
    found = imports("\n".join(line for line in GROUPS.splitlines() if "smcroute" not in line) + "\n")
    assert [line for line, text in said(found) if "under multicast" in text] == [9]


def test_a_script_that_a_node_starts(tmp_path: Path) -> None:
    """A bound script beside the containerlab file is read, with its own lines. A path out of the folder is not."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "a.sh").write_text("#!/bin/sh\nip addr add 10.4.0.$1/24 dev eth1\n\nfrobnicate\n")
    text = "topology:\n  nodes:\n"
    text += "    a: {kind: linux, binds: ['conf:/conf:ro'], exec: [bash -x /conf/__clabNodeName__.sh 7]}\n"
    text += "    b: {kind: linux, binds: ['../x.sh:/x.sh'], exec: [/x.sh], stages: {create: {wait-for: []}, "
    text += "configure: {exec: [{command: ip addr add 10.4.0.8/24 dev eth1}]}}}\n"
    text += "  links:\n    - endpoints: [a:eth1, b:eth1]\n"
    (tmp_path.parent / "x.sh").write_text("ip addr add 10.4.0.99/24 dev eth1\n")
    file = tmp_path / "net.clab.yml"
    file.write_text(text)
    found = read([file], None, ImportOptions())
    (link,) = found.topology.network.links
    assert [end.addresses[0] for end in link.ends] == ["10.4.0.7/24", "10.4.0.8/24"]
    assert [(Path(each.file).name, each.line) for each in found.untaken] == [("a.sh", 4), ("net.clab.yml", 4)]


def test_a_thousand_tunnels_are_too_many(imports: Imports) -> None:
    text = TUNNEL + "for i in {1..1000}; do\nip -n a link add g$i type gre remote 10.2.0.1 key $i\n"
    with pytest.raises(InputError, match=r"net\.sh:13: more than 500 bonds, VLANs and tunnels"):
        imports(text + "ip -n b link add g$i type gre remote 10.1.0.1 key $i\ndone\n")


SOURCES = [TWO_WIRES + BOND.format(mode="802.3ad"), VLANS, VRFS, GROUPS, SYSFS]
SOURCES += [TUNNEL + "ip -n a link add g type gre remote 10.2.0.1\nip -n b link add g type gre remote 10.1.0.1\n"]
LINES = sorted({line for source in SOURCES for line in source.splitlines()})
TOKENS = sorted({word for line in LINES for word in line.split()})


@given(st.data())
def test_damaged_files_import_or_are_refused_with_lines(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Lines are dropped, repeated and swapped, and words replaced: every refusal has a line of the file."""
    lines = list(data.draw(st.sampled_from(SOURCES)).splitlines())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        words = lines[at].split(" ")
        match data.draw(st.integers(0, 3)):
            case 0:
                lines[at] = ""
            case 1:
                lines.insert(at, data.draw(st.sampled_from(LINES)))
            case 2:
                lines[at], lines[0] = lines[0], lines[at]
            case _:
                place = data.draw(st.integers(0, len(words) - 1))
                words[place] = data.draw(st.sampled_from(TOKENS) | st.text(max_size=4))
                lines[at] = " ".join(words)
    text = "\n".join(lines) + "\n"
    file = tmp_path_factory.getbasetemp() / "damaged.sh"
    file.write_text(text)
    with suppress(InputError):
        found = read([file], None, ImportOptions())
        topologies.parse(found.text, Path("again.yaml"))
        assert all(1 <= each.line <= text.count("\n") + 1 and each.message for each in found.untaken)


FABRICS = [SWITCHED, FANNED, MESH.replace("KIND", "ipip"), MESH.replace("KIND", "vxlan id 5")]
PIECES = sorted({piece.strip(" -[]{},") for source in FABRICS for piece in source.replace(",", "\n").splitlines()})


@given(st.sampled_from(FABRICS), st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(PIECES)), max_size=3))
def test_damaged_fabrics_import_or_are_refused_with_lines(
    tmp_path_factory: pytest.TempPathFactory, text: str, swaps: list[tuple[str, str]]
) -> None:
    for one, other in swaps:
        text = text.replace(one, other, 1) if one else text
    file = tmp_path_factory.getbasetemp() / "damaged.clab.yml"
    file.write_text(text)
    with suppress(InputError):
        found = read([file], None, ImportOptions())
        topologies.parse(found.text, Path("again.yaml"))
        assert all(1 <= each.line <= text.count("\n") + 1 and each.message for each in found.untaken)
