"""Check that a link whose MTU changes has routes that can carry the change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from lab.guest.network import WAYS, Route
from lab.spec.addressing import End, Subnet
from lab.spec.carried import Carriers
from lab.spec.document import Place
from lab.spec.format import TopologyPart
from lab.spec.routing import Routing


def mistakes(
    topology: TopologyPart, subnets: Sequence[Subnet], routing: Routing, routes: Mapping[str, tuple[Route, ...]]
) -> Iterator[tuple[Place, str]]:
    """Yield (place, message) for every change of an MTU that the sending node's routes cannot carry."""
    several = {end for subnet in subnets for end in _together(subnet)}
    carriers = Carriers.of(topology)
    for name, link in topology.links.items():
        first, second = link.ends
        for way, node in ((WAYS[0], first), (WAYS[1], second)):
            place: Place = (
                ("links", name, "changes") if link.shares(way, "changes") else ("links", name, way, "changes")
            )
            for index, change in enumerate(link.way(way, "changes") or ()):
                if change.mtu and (message := _wrong(topology, carriers, (name, node), routing, routes, several)):
                    yield (*place, index, "mtu"), message


def _wrong(
    topology: TopologyPart,
    carriers: Carriers,
    end: End,
    routing: Routing,
    routes: Mapping[str, tuple[Route, ...]],
    several: set[End],
) -> str | None:
    link, node = end
    if node in topology.switches:
        other = next(each for each in topology.links[link].ends if each != node)
        way = WAYS[[*topology.links[link].ends].index(other)]
        advice = "leave it out" if other in topology.switches else f"give it only to `{way}`, in which '{other}' sends"
        return f"'{node}' is a switch, which cannot ask for smaller packets; {advice}"
    for overlay in carriers.overlays:
        if node in topology.links[overlay].ends and link in carriers.below(overlay, node):
            return f"the link carries '{overlay}', whose MTU does not change with it; leave it out"
    for route in routes[node]:
        if routing.interfaces[end] in (hop.interface for hop in route.hops):
            return f"the route of '{node}' to {route.to} has several next hops, which share one MTU; leave it out"
    if end in several:
        return f"'{node}' has several links to this subnet, whose routes share one MTU; leave it out"
    return None


def _together(subnet: Subnet) -> Iterator[End]:
    """Yield the ends of nodes that have several ends in a subnet."""
    count = Counter(node for _, node in subnet.members)
    yield from (end for end in subnet.members if count[end[1]] > 1)
