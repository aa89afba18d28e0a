"""Find the tree of routers along which each multicast group's packets go from their source to the receivers."""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lab.guest.network import MOST_MULTICAST, Forwarding, Route
from lab.spec.addressing import End, Subnet
from lab.spec.document import Place
from lab.spec.errors import instead
from lab.spec.format import TopologyPart
from lab.spec.parts import Mistakes
from lab.spec.routing import Routing, ip

Branch = tuple[End, End, Subnet]  # the router's end at which packets come in, the one at which they leave, where from


@dataclass
class Trees:
    """Holds the entries of every router, and the routes to the groups of their sources and receivers.

    A receiver needs a route, too. If a program joins a group without naming an interface, the route decides it.
    """

    forwarding: dict[str, list[Forwarding]] = field(default_factory=dict)  # router -> entries
    routes: dict[str, list[Route]] = field(default_factory=dict)  # source or receiver -> routes


def trees(topology: TopologyPart, routing: Routing) -> Trees:
    """Return the trees of all groups. Raises Mistakes for an unknown node, and for a receiver without a path."""
    found = Trees()
    mistakes: list[tuple[Place, str]] = []
    nodes = [*topology.hosts, *topology.routers]
    for group, members in topology.multicast.items():
        place: Place = ("multicast", group)
        named = [(("source",), members.source), *((("receivers", n), name) for n, name in enumerate(members.receivers))]
        wrong = [(where, name) for where, name in named if name not in nodes]
        mistakes += [((*place, *where), f"unknown node '{name}'{instead(name, nodes)}") for where, name in wrong]
        for number in (n for n, name in enumerate(members.receivers) if name == members.source):
            mistakes.append(((*place, "receivers", number), f"'{members.source}' is the source"))
        if not wrong and (message := _grow(found, routing, group, members.source, members.receivers)):
            mistakes.append((place, message))
    mistakes += _too_many(found, [*topology.multicast])
    if mistakes:
        raise Mistakes(mistakes)
    return found


def declared_twice(
    topology: TopologyPart, found: Trees, routes: Mapping[str, tuple[Route, ...]]
) -> Iterator[tuple[Place, str]]:
    """Yield the declared routes of sources and receivers to their own groups, which already have a route."""
    for kind, node, _ in topology.nodes():
        own = {route.to for route in found.routes.get(node, ())}
        for route in routes[node]:
            if route.to in own and not route.metric and not route.table:
                group = route.to.split("/")[0]
                message = f"the group {group} already gives '{node}' a route; leave out its declared route to {group}"
                yield (kind, node, "routes"), message


def _too_many(found: Trees, groups: list[str]) -> Iterator[tuple[Place, str]]:
    """Yield the routers that would forward at more interfaces than the kernel has room for."""
    for router, entries in found.forwarding.items():
        for version in (4, 6):
            own = [each for each in entries if ipaddress.ip_address(each.group).version == version]
            interfaces = {name for each in own for name in (each.interface, *each.out)}
            if len(interfaces) > MOST_MULTICAST:
                message = (
                    f"'{router}' would forward at {len(interfaces)} interfaces; Linux has room for {MOST_MULTICAST}"
                )
                yield ("multicast", next(each for each in groups if each in {one.group for one in own})), message


def _grow(found: Trees, routing: Routing, group: str, source: str, receivers: tuple[str, ...]) -> str | None:
    """Add one group's tree. Return a message if there is none."""
    version = ipaddress.ip_address(group).version
    missing: list[str] = []
    roots = [*routing.attached((source, ""), version)]
    if version == 6:  # a source sends through its first interface
        order = [*routing.interfaces]
        roots = sorted(roots, key=lambda root: order.index(root[1]))[:1]
    for root, end in roots:
        steps = dict(_reached(routing, root, version))
        ends = {name: _end(routing, steps, name, version) for name in receivers}
        missing = [name for name, found_end in ends.items() if found_end is None]
        if not missing:
            out: dict[End, list[str]] = {}
            for links in (found_end[0].links for found_end in ends.values() if found_end):
                for inward, outward, _ in _way(steps, links):
                    names = out.setdefault(inward, [])
                    if (name := routing.interfaces[outward]) not in names:
                        names.append(name)
            address = ip(root, end, version)
            for inward, names in out.items():
                entry = Forwarding(group, address, routing.interfaces[inward], tuple(names))
                found.forwarding.setdefault(inward[1], []).append(entry)
            members = {source: end, **{name: found_end[1] for name, found_end in ends.items() if found_end}}
            for node, own in members.items() if version == 4 else ():  # IPv6 has a route, over the first interface
                route = Route(f"{group}/32", routing.interfaces[own], None, None, None, declared=True)
                found.routes.setdefault(node, []).append(route)
            return None
    first = f" from its first link, {roots[0][1][0]}; name a different link first" if version == 6 and roots else ""
    return f"there is no path from '{source}' to {missing[0] if missing else receivers[0]} over IPv{version}{first}"


def _reached(routing: Routing, root: Subnet, version: int) -> Iterator[tuple[tuple[str, ...], Branch | None]]:
    """Yield the links of each subnet that packets from `root` can reach, with the last step there."""
    seen = {root.links}
    queue = deque([root])
    yield root.links, None
    while queue:
        near = queue.popleft()
        for member in near.members if not near.is_tunnel else ():
            if member[1] in routing.topology.routers and not routing.vrf_of(member):  # a VRF has no multicast table
                for far, end in routing.attached((member[1], ""), version):
                    if far.links not in seen:
                        seen.add(far.links)
                        queue.append(far)
                        yield far.links, (member, end, near)


def _end(
    routing: Routing, steps: Mapping[tuple[str, ...], Branch | None], receiver: str, version: int
) -> tuple[Subnet, End] | None:
    """Return the receiver's nearest subnet and its end there, or None if no subnet of the receiver is reached."""
    own = {subnet.links: (subnet, end) for subnet, end in routing.attached((receiver, ""), version)}
    return next((own[links] for links in steps if links in own), None)


def _way(steps: Mapping[tuple[str, ...], Branch | None], links: tuple[str, ...]) -> Iterator[Branch]:
    """Yield the steps to a subnet, from the last one back."""
    while (step := steps[links]) is not None:
        yield step
        links = step[2].links
