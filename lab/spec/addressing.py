"""Find the links of each subnet, and assign all IP and MAC addresses."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from lab.guest.network import WAYS, Carried
from lab.spec.carried import TUNNELS, Carriers
from lab.spec.document import Place
from lab.spec.format import TopologyPart
from lab.spec.parts import MTU, MTU_MIN_IPV6, Mistakes
from lab.units import Size

End = tuple[str, str]  # (link, node)
Prefix = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Subnet:
    """Holds the links of one subnet: links that switches connect, or a single link."""

    links: tuple[str, ...]
    members: tuple[End, ...]  # the ends on hosts and routers
    ipv6: bool
    is_tunnel: bool = False  # no automatic route leads through it
    prefixes: dict[int, Prefix] = field(default_factory=dict)  # IP version -> prefix
    addresses: dict[End, dict[int, str]] = field(default_factory=dict)  # CIDR form, by IP version


def mtu(topology: TopologyPart, link: str, way: Literal["forward", "back"]) -> Size:
    """Return the largest IP packet that the link carries in that direction."""
    found = topology.links[link]
    if found.carried is None:
        return found.way(way, "mtu") or MTU
    return Carriers.of(topology).mtu(link, list(found.ends)[WAYS.index(way)])


def mac(link: int, end: int) -> str:
    """Return a locally administered MAC address, computed from the link's number and the end's number in the link."""
    return f"02:00:00:{link >> 8:02x}:{link & 255:02x}:{end:02x}"


def subnets(topology: TopologyPart) -> tuple[Subnet, ...]:
    """Return the addressed subnets in the order of their first links.

    The first subnet has 10.0.1.0/24 and fd00:1::/64, the second 10.0.2.0/24 and fd00:2::/64, and so on. An address in
    the topology file decides the prefix of its subnet. Raises Mistakes if addresses or MTUs do not fit.
    """
    found = tuple(_subnet(topology, links) for links in _joined(topology))
    mistakes = [mistake for subnet in found for mistake in _switched(topology, subnet)]
    for index, subnet in enumerate(found, 1):
        automatic = {4: f"10.{index >> 8}.{index & 255}.0/24", 6: f"fd00:{index}::/64"}
        for version in (4, 6) if subnet.ipv6 else (4,):
            mistakes += _address(topology, subnet, version, ipaddress.ip_network(automatic[version]))
        if not subnet.ipv6:
            mistakes += _ipv6_in_vain(topology, subnet)
    mistakes += _overlaps(found)
    if mistakes:
        raise Mistakes(mistakes)
    return found


def _joined(topology: TopologyPart) -> list[tuple[str, ...]]:
    """Group links by the switches that join them, without the wires of bonds."""
    groups: list[tuple[set[str], list[str]]] = []
    bonded = Carriers.of(topology).bonded
    for name, link in topology.links.items():
        if name in bonded:
            continue
        switches = {end for end in link.ends if end in topology.switches}
        touching = [group for group in groups if group[0] & switches]
        for group in touching:
            groups.remove(group)
        switches = switches.union(*(group[0] for group in touching))
        groups.append((switches, [*(each for group in touching for each in group[1]), name]))
    order = list(topology.links)
    return sorted((tuple(sorted(links, key=order.index)) for _, links in groups), key=lambda g: order.index(g[0]))


def _subnet(topology: TopologyPart, links: tuple[str, ...]) -> Subnet:
    members = tuple((link, end) for link in links for end in topology.links[link].ends if end not in topology.switches)
    ipv6 = all(mtu(topology, link, way).bytes >= MTU_MIN_IPV6 for link in links for way in WAYS)
    kinds = {topology.links[link].carried for link in links}
    return Subnet(links, members, ipv6 and Carried.IPIP not in kinds, bool(kinds.intersection(TUNNELS)))


def _switched(topology: TopologyPart, subnet: Subnet) -> Iterator[tuple[Place, str]]:
    """Yield the links whose MTU differs from the subnet's MTU: a switch neither fragments nor answers 'too big'."""
    if len(subnet.links) > 1:
        wanted = mtu(topology, subnet.links[0], "forward")
        for link in subnet.links:
            for way in WAYS:
                if (given := mtu(topology, link, way)) != wanted:
                    yield ("links", link), f"an MTU of {given} {way}, but the switch joins links of {wanted}"


def _address(topology: TopologyPart, subnet: Subnet, version: int, prefix: Prefix) -> Iterator[tuple[Place, str]]:
    given: dict[End, ipaddress.IPv4Interface | ipaddress.IPv6Interface] = {}
    for link, node in subnet.members:
        for index, text in enumerate(topology.links[link].ends[node].addresses):
            address = ipaddress.ip_interface(text)
            if address.version != version:
                continue
            place = ("links", link, "ends", node, "addresses", index)
            first = next(iter(given.values()), address)
            if address.network != first.network:
                yield place, f"'{text}' is not in {first.network}, this subnet's prefix"
            elif address.ip in {other.ip for other in given.values()}:
                yield place, f"'{text}' is given twice"
            given[link, node] = address
    prefix = next(iter(given.values())).network if given else prefix
    subnet.prefixes[version] = prefix
    taken = {address.ip for address in given.values()}
    free = (host for host in prefix.hosts() if host not in taken)
    for end in subnet.members:
        if end in given:
            address = given[end]
            text = f"{address.ip}/{prefix.prefixlen}"
        elif (host := next(free, None)) is not None:
            text = f"{host}/{prefix.prefixlen}"
        else:
            yield ("links", end[0]), f"no address is left in {prefix}; give one of its ends one in a wider prefix"
            return
        subnet.addresses.setdefault(end, {})[version] = text


def _ipv6_in_vain(topology: TopologyPart, subnet: Subnet) -> Iterator[tuple[Place, str]]:
    for link, node in subnet.members:
        for index, text in enumerate(topology.links[link].ends[node].addresses):
            if ":" in text:
                place = ("links", link, "ends", node, "addresses", index)
                if topology.links[link].carried is Carried.IPIP:
                    yield place, "an IPIP tunnel carries IPv4 only; use GRE"
                    continue
                yield place, f"IPv6 needs an MTU of {MTU_MIN_IPV6} B in both directions, and this subnet's is smaller"


def _overlaps(found: tuple[Subnet, ...]) -> Iterator[tuple[Place, str]]:
    seen: list[tuple[Prefix, str]] = []
    for subnet in found:
        for prefix in subnet.prefixes.values():
            for other, link in seen:
                if prefix.version == other.version and prefix.overlaps(other):
                    yield ("links", subnet.links[0]), f"its subnet {prefix} overlaps with {other} of link '{link}'"
            seen.append((prefix, subnet.links[0]))
