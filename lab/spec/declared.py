"""Resolve the routes that a topology declares, and replace the automatic ones."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from msgspec import structs

from lab.guest.network import Hop, Route
from lab.spec.addressing import End, Prefix, Subnet
from lab.spec.carried import Carriers
from lab.spec.document import Place
from lab.spec.errors import instead, suggestion
from lab.spec.format import NodePart, TopologyPart
from lab.spec.parts import ROUTE_MTU_MAX, Mistakes, prefix
from lab.spec.routes import RoutePart
from lab.spec.routing import Routing, ip
from lab.units import Size

FIRST_TABLE = 1001  # of a node's first VRF
IPV6_METRIC = 1024  # of an IPv6 route without one
FORWARDING = {  # the sysctls with which a host forwards
    4: ("net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding"),
    6: ("net.ipv6.conf.all.forwarding",),
}
EVERYWHERE = {4: ipaddress.ip_network("0.0.0.0/0"), 6: ipaddress.ip_network("::/0")}


@dataclass(frozen=True)
class RouteTables:
    """Finds the routes of every node: the declared routes, and the automatic routes that these do not replace."""

    topology: TopologyPart
    subnets: tuple[Subnet, ...]
    routing: Routing

    def every(self) -> dict[str, tuple[Route, ...]]:
        """Return the routes of every host and router. Raises Mistakes with every route that a node cannot have."""
        found: dict[str, tuple[Route, ...]] = {}
        mistakes: list[tuple[Place, str]] = []
        for kind, node, part in self.topology.nodes():
            try:
                found[node] = self._of(node, part)
            except Mistakes as error:
                mistakes += [((kind, node, "routes", *place), message) for place, message in error.found]
        if mistakes:
            raise Mistakes(mistakes)
        return found

    def _of(self, node: str, part: NodePart) -> tuple[Route, ...]:
        mistakes: list[tuple[Place, str]] = []
        declared: list[tuple[str, Route]] = []  # VRF, route
        for index, route in enumerate(part.routes):
            try:
                made = [*self._resolved(node, route)]
                for vrf, each in made:
                    if any((at, _key(other)) == (vrf, _key(each)) for at, other in declared):
                        message = (
                            f"a second route to {each.to}; change its metric, or give the first one several next hops"
                        )
                        raise Mistakes([(("to",), message)])
                declared += made
            except Mistakes as error:
                mistakes += [((index, *place), message) for place, message in error.found]
        if mistakes:
            raise Mistakes(mistakes)
        every: list[Route] = []
        for vrf, table in tables_of(part).items():
            own = [made for at, made in declared if at == vrf]
            automatic = self.routing.of(node, vrf)
            left = [each for each in automatic if not _replaced(each, own)] if own else automatic
            every += [structs.replace(each, table=table) if vrf else each for each in (*left, *own)]
        return tuple(every)

    def _resolved(self, node: str, route: RoutePart) -> Iterator[tuple[str, Route]]:
        """Yield (VRF, route) for each IP version that the destination and all next hops have."""
        targets = self._targets(node, route.to)
        hops = {version: self._hops(node, route, version, target) for version, target in targets.items()}
        if not any(hops.values()):
            versions = " or ".join(f"IPv{version}" for version in targets)
            if route.via:
                raise Mistakes([(("via",), f"no next hop has an address of {versions}, which the destination has")])
            raise Mistakes([(("to",), "no automatic route leads there; name the next hop with via")])
        for version, found in hops.items():
            if not found:
                continue
            vrfs = {self.routing.vrf_of(end) for end, _, _ in found}
            if len(vrfs) > 1:
                raise Mistakes([(("via",), "the next hops are in different VRFs; a route belongs to a single VRF")])
            end, via, _ = found[0]
            sends, advertises = self._metrics(route, [end for end, _, _ in found])
            self._refuse_own(node, route, targets[version], end)
            made = Route(
                to=str(targets[version]),
                interface=self.routing.interfaces[end],
                via=via,
                mtu=sends,
                advmss=advertises,
                metric=route.metric or 0,
                initcwnd=route.initcwnd or 0,
                initrwnd=route.initrwnd or 0,
                declared=True,
            )
            if len(found) > 1:
                several = tuple(Hop(self.routing.interfaces[end], str(via), weight) for end, via, weight in found)
                made = structs.replace(made, hops=several)
            yield vrfs.pop(), made

    def _metrics(self, route: RoutePart, ends: list[End]) -> tuple[Size | None, Size | None]:
        """Return (mtu, advmss) of a declared route over all of these ends. Raises Mistakes for an MTU above theirs."""
        least, link = min((self.routing.mtu(end), end[0]) for end in ends)
        if route.mtu and route.mtu > least:
            message = f"{route.mtu} is more than the MTU of '{link}', {least}; give at most that"
            raise Mistakes([(("mtu",), message)])
        if route.mtu and route.mtu.bytes > ROUTE_MTU_MAX:
            raise Mistakes([(("mtu",), f"{route.mtu} is more than {ROUTE_MTU_MAX} B, the most that a route can have")])
        found = [self.routing.metrics(end) for end in ends]
        narrow = least if any(sends for sends, _ in found) else None
        return route.mtu or narrow, route.advmss or min((mss for _, mss in found if mss), default=None)

    def _refuse_own(self, node: str, route: RoutePart, target: Prefix, end: End) -> None:
        """Raise Mistakes if a route with a next hop leads to a subnet that the node reaches without one."""
        part = node, self.routing.vrf_of(end)
        if route.via and any(
            target in subnet.prefixes.values() for subnet, _ in self.routing.attached(part, target.version)
        ):
            raise Mistakes([(("to",), f"'{node}' is in {target} itself; leave out via, or name a single node")])

    def _targets(self, node: str, to: str) -> dict[int, Prefix]:
        """Return the destination's prefixes by IP version. Raises Mistakes."""
        if to == "default":
            return dict(EVERYWHERE)
        for subnet in self.subnets:
            if to in subnet.links:
                return subnet.prefixes
        name, _, link = to.partition(".")
        found = [(subnet, end) for subnet, end in self._places.get(name, ()) if link in ("", end[0])]
        if found and name == node:
            raise Mistakes([(("to",), f"'{to}' is this node itself")])
        targets: dict[int, Prefix] = {}
        for subnet, end in found:
            for version in subnet.prefixes:
                targets.setdefault(version, ipaddress.ip_network(ip(subnet, end, version)))
        if targets:
            return dict(sorted(targets.items()))
        if bond := Carriers.of(self.topology).bonded.get(to):
            raise Mistakes([(("to",), f"'{to}' is part of the bond '{bond}'; name the bond")])
        try:
            wanted = prefix(to)
        except ValueError as error:
            raise Mistakes([(("to",), str(error))]) from None
        if wanted is None:
            known = [*self.topology.hosts, *self.topology.routers, *self.topology.links]
            hint = suggestion(to, known) or "; name a node, NODE.LINK, a link, a prefix like 10.0.2.0/24, or default"
            raise Mistakes([(("to",), f"unknown destination '{to}'{hint}")])
        own = {ip(subnet, end, version) for subnet, end in self._places[node] for version in subnet.prefixes}
        if wanted.prefixlen == wanted.max_prefixlen and str(wanted.network_address) in own:
            raise Mistakes([(("to",), f"'{to}' is an address of '{node}' itself; leave the route out")])
        return {wanted.version: wanted}

    @cached_property
    def _places(self) -> Mapping[str, list[tuple[Subnet, End]]]:
        """Return each node's subnets and ends, in the order of `Network.interfaces`."""
        wires = [name for name, link in self.topology.links.items() if not link.carried]
        order = {link: number for number, link in enumerate([*wires, *Carriers.of(self.topology).overlays])}
        found: dict[str, list[tuple[Subnet, End]]] = {}
        for subnet in self.subnets:
            for end in subnet.members:
                found.setdefault(end[1], []).append((subnet, end))
        return {node: sorted(places, key=lambda place: order[place[1][0]]) for node, places in found.items()}

    def _hops(self, node: str, route: RoutePart, version: int, target: Prefix) -> list[tuple[End, str | None, int]]:
        """Return (leaving end, next hop, weight) for every next hop; empty if one has no address of this version."""
        if route.via is None:
            return self._automatic(node, version, target)
        found: list[tuple[End, str | None, int]] = []
        names: dict[tuple[End, str | None], str] = {}
        for name, weight in route.via.items():
            place: Place = ("via", name) if len(route.via) > 1 else ("via",)
            near = list(self._neighbours(node, name))
            if not near:
                raise Mistakes([(place, self._stranger(node, name))])
            own: list[tuple[End, str | None]] = [(end, via) for _, end, via in near if (":" in via) == (version == 6)]
            if not own:
                return []
            if own[0] in names:
                message = f"'{name}' is the same next hop as '{names[own[0]]}'; give that one a weight instead"
                raise Mistakes([(place, message)])
            if wrong := self._in_vain(str(own[0][1]), target):
                raise Mistakes([(place, wrong)])
            names[own[0]] = name
            found.append((*own[0], weight))
        return found

    def _in_vain(self, via: str, target: Prefix) -> str | None:
        """Return what is wrong with the node of a next hop: there is none, or it does not forward."""
        hop = self._owners.get(via)
        if hop is None:
            return f"no node has the address {via}; name a neighbour"
        forwards = hop in self.topology.routers or any(
            values.get(name, "0") != "0"
            for values in (self.topology.sysctls, self.topology.node(hop).sysctls)
            for name in FORWARDING[target.version]
        )
        is_end = target.num_addresses == 1 and self._owners.get(str(target.network_address)) == hop
        if forwards or is_end:
            return None
        sysctl = FORWARDING[target.version][0]
        return f"'{hop}' is a host, which does not forward; name a router, or set its sysctl {sysctl}"

    @cached_property
    def _owners(self) -> Mapping[str, str]:
        """Return the node of each address."""
        return {
            text.split("/")[0]: end[1]
            for subnet in self.subnets
            for end, texts in subnet.addresses.items()
            for text in texts.values()
        }

    def _neighbours(self, node: str, name: str) -> Iterator[tuple[Subnet, End, str]]:
        """Yield (subnet, own end, address) wherever the next hop `name` shares a subnet with `node`."""
        own_addresses = [ip(subnet, end, version) for subnet, end in self._places[node] for version in subnet.prefixes]
        wanted, _, link = name.partition(".") if not _is_address(name) else (name, "", "")
        for subnet in sorted(self.subnets, key=lambda subnet: subnet.is_tunnel):
            own = next((end for end in subnet.members if end[1] == node), None)
            if own is None:
                continue
            for version, around in subnet.prefixes.items():
                if _is_address(name):
                    address = ipaddress.ip_address(name)
                    if address in around and str(address) not in own_addresses and not _is_of_all(address, around):
                        yield subnet, own, name
                    continue
                for end in subnet.members:
                    if end[1] == wanted != node and link in ("", end[0]):
                        yield subnet, own, ip(subnet, end, version)

    def _stranger(self, node: str, name: str) -> str:
        if _is_address(name):
            address = ipaddress.ip_address(name)
            for subnet, end in self._places[node]:
                for version, own in subnet.prefixes.items():
                    if str(address) == ip(subnet, end, version):
                        return f"{name} is an address of '{node}' itself"
                    if _is_of_all(address, own):
                        return f"{name} is the network or broadcast address of {own}"
            return f"no link of '{node}' has a subnet with {name}"
        around = [end[1] for subnet in self.subnets for end in subnet.members if _has(subnet, node) and end[1] != node]
        known = list(dict.fromkeys(around))
        if name.partition(".")[0] in (*self.topology.hosts, *self.topology.routers):
            return f"'{name}' is not a neighbour of '{node}'{instead(name, known)}"
        return f"unknown node '{name}'{instead(name, known)}"

    def _automatic(self, node: str, version: int, target: Prefix) -> list[tuple[End, str | None, int]]:
        """Return the next hop of the automatic route that leads to `target`, on-link or through a router."""
        members = (end for subnet in self.subnets for end in subnet.members)
        ends = {self.routing.interfaces[end]: end for end in members if end[1] == node}
        for vrf in ("", *self.topology.node(node).vrfs):
            for subnet, end in self.routing.attached((node, vrf), version):
                if _within(target, subnet.prefixes[version]):
                    return [(end, None, 1)]
        for vrf in ("", *self.topology.node(node).vrfs):
            for route in self.routing.of(node, vrf):
                around = ipaddress.ip_network(route.to)
                if around.version == version and _within(target, around):
                    return [(ends[route.interface], route.via, 1)]
        return []


def tables_of(part: NodePart) -> Mapping[str, int]:
    """Return the routing table of each VRF of a node; 0, the main one, for ""."""
    return {"": 0, **{name: FIRST_TABLE + number for number, name in enumerate(part.vrfs)}}


def _replaced(automatic: Route, declared: list[Route]) -> bool:
    """Return whether a declared route leads to the same destination, or to one that contains it."""
    own = ipaddress.ip_network(automatic.to)
    for route in declared:
        other = ipaddress.ip_network(route.to)
        if own == other or (automatic.via is not None and _within(own, other)):
            return True
    return False


def _within(inner: Prefix, outer: Prefix) -> bool:
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]  # of one version


def _has(subnet: Subnet, node: str) -> bool:
    return any(end[1] == node for end in subnet.members)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_of_all(address: ipaddress.IPv4Address | ipaddress.IPv6Address, around: Prefix) -> bool:
    """Return whether an IPv4 address is its subnet's network or broadcast address."""
    return around.version == 4 and around.prefixlen < 31 and address in (around[0], around[-1])


def _key(route: Route) -> tuple[str, int]:
    """Return what distinguishes a route of a table: with IPv6, the kernel has no metric 0."""
    return route.to, route.metric or (IPV6_METRIC if ":" in route.to else 0)
