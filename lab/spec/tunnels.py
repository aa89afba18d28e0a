"""Check that a tunnel's packets find a way to its other end, and that this way leads through no tunnel."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from lab.guest.network import Route
from lab.spec.addressing import Subnet
from lab.spec.carried import TUNNELS, Carriers
from lab.spec.document import Place
from lab.spec.format import TopologyPart
from lab.spec.routing import Routing


def mistakes(
    topology: TopologyPart, subnets: Sequence[Subnet], routing: Routing, routes: Mapping[str, tuple[Route, ...]]
) -> Iterator[tuple[Place, str]]:
    """Yield (place, message) for every tunnel whose packets get lost at one of its ends."""
    carriers = Carriers.of(topology)
    outer = {end: texts[4].split("/")[0] for subnet in subnets for end, texts in subnet.addresses.items()}
    tunnels = [name for name in carriers.overlays if carriers.kind(name) in TUNNELS]
    through = {(node, routing.interfaces[name, node]) for name in tunnels for node in topology.links[name].ends}
    for name in tunnels:
        for near, far in permutations(topology.links[name].ends):
            (below,) = carriers.below(name, far)
            leaving = _leaving(near, outer[below, far], routing, routes[near])
            goal = f"from '{near}' to {far}.{below}, the tunnel's other end,"
            place: Place = ("links", name, "tunnel")
            if not leaving:
                yield place, f"no route leads {goal[:-1]}; add {{to: {far}.{below}, via: ROUTER}} to '{near}'"
                break
            if any((near, interface) in through for interface in leaving):
                yield place, f"the route {goal} leads through a tunnel; add {{to: {far}.{below}, via: ROUTER}}"
                break


def _leaving(node: str, address: str, routing: Routing, routes: tuple[Route, ...]) -> list[str]:
    """Return the interfaces of the route that a node's main table has to an IPv4 address; [] without a route."""
    found: list[tuple[int, int, list[str]]] = []  # prefix length, metric, interfaces
    wanted = ipaddress.ip_address(address)
    for route in routes:
        prefix = ipaddress.ip_network(route.to)
        if not route.table and wanted in prefix:
            several = [hop.interface for hop in route.hops] or [route.interface]
            found.append((prefix.prefixlen, route.metric, several))
    for subnet, end in routing.attached((node, ""), 4):
        if wanted in subnet.prefixes[4]:
            found.append((subnet.prefixes[4].prefixlen, 0, [routing.interfaces[end]]))
    return max(found, key=lambda each: (each[0], -each[1]), default=(0, 0, []))[2]
