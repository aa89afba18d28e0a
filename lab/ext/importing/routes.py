"""Declare the routes of a file that the lab would not compute on its own."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.ext.importing.domains import standing
from lab.ext.importing.draft import Draft
from lab.ext.importing.fitting import fit, subnets
from lab.ext.importing.found import Device, FoundHop, FoundNetwork, FoundRoute
from lab.guest.network import Carried, Kind, Node, Route
from lab.spec.topology import Topology


def declare_routes(topology: Topology, made: Draft, network: FoundNetwork, path: Path) -> Topology:
    """Return the topology with the file's routes that differ from those that the lab computes.

    The network notes each route that a topology cannot have.
    """
    nodes = {node.name: node for node in topology.network.nodes}
    hops = _Hops(topology, made, network)
    declared = False
    for space in network.spaces.values():
        node = nodes.get(made.names.get(space.name, ""))
        if node is None or not space.routes:
            continue
        given = [ready for route in space.routes if (ready := hops.resolved(route, space.name, node))]
        kind = "routers" if node.kind is Kind.ROUTER else "hosts"
        routes = {_key(each.route): each for each in _differing(node, given)}  # the last one to a destination counts
        for index, each in enumerate(routes.values()):
            made.sources[kind, node.name, "routes", index] = each.route.where
        if routes:
            made.data[kind][node.name]["routes"] = [each.declared() for each in routes.values()]
            declared = True
    return fit(made, network, path) if declared else topology


@dataclass(frozen=True)
class _Ready:
    """Holds a route whose next hops a topology can name: addresses, or NODE.LINK."""

    route: FoundRoute
    via: dict[str, int]  # next hop -> weight
    addresses: tuple[str, ...]  # of the next hops

    def declared(self) -> dict[str, Any]:
        """Return the route with a topology's keys."""
        to = "default" if self.route.destination in ("0.0.0.0/0", "::/0") else self.route.destination
        metrics = self.route.metrics.items()
        sizes = {key: f"{value} B" if key in ("advmss", "mtu") else value for key, value in metrics if value}
        return {"to": to, "via": self.via if len(self.via) > 1 else next(iter(self.via)), **sizes}


@dataclass
class _Hops:
    """Finds what a topology calls the next hops of routes."""

    topology: Topology
    made: Draft
    network: FoundNetwork
    owners: dict[str, list[Device]] = field(default_factory=dict)  # address -> the devices that have it
    own: dict[str, list[str]] = field(default_factory=dict)  # namespace -> the file's addresses
    groups: dict[str, int] = field(default_factory=dict)  # link -> the number of its subnet
    members: dict[int, set[str]] = field(default_factory=dict)  # a subnet's number -> its nodes

    def __post_init__(self) -> None:
        for number, group in enumerate(subnets(self.made.data)):
            self.groups |= dict.fromkeys(group, number)
            self.members[number] = {node for name in group for node in self.made.data["links"][name]["ends"]}
        for device in self.network.devices.values():
            for address in device.addresses:
                self.owners.setdefault(address.split("/")[0], []).append(device)
                self.own.setdefault(device.space, []).append(address)

    def resolved(self, route: FoundRoute, space: str, node: Node) -> _Ready | None:
        """Return a route with the next hops' names, or None for a route that the kernel has anyway.

        The network notes a route whose next hop has no name.
        """
        own = [
            ipaddress.ip_interface(each)
            for end in self.topology.network.interfaces(node.name)
            for each in end.addresses
        ]
        wanted: Any = ipaddress.ip_network(route.destination)
        via: dict[str, int] = {}
        addresses = []
        for hop in route.hops:
            if hop.via is None and any(each.version == wanted.version and each.network == wanted for each in own):
                return None
            name = self._name(hop, space, own)
            if name is None:
                self.network.leave(route.where, f"a route to {route.destination}: {self._lost(hop, space)}")
                return None
            via[name] = hop.weight
            addresses.append(self._address(name, wanted.version))
        return _Ready(route, via, tuple(addresses))

    def _lost(self, hop: FoundHop, space: str) -> str:
        """Return why a next hop has no name."""
        device = self.network.device(space, hop.device) if hop.device else None
        if device is not None and device.kind == "refused":
            return f"{hop.device} was left out"
        if hop.via is not None:
            return f"the subnet of {hop.via} has different addresses here, and the lab's own route takes its place"
        return f"the next hop through {hop.device} is not in this file; name it with a via"

    def _name(self, hop: FoundHop, space: str, own: list[Any]) -> str | None:
        """Return the address of a next hop if the node has a link to it, else its NODE.LINK, or None."""
        if hop.via is not None:
            address: Any = ipaddress.ip_address(hop.via)
            if any(address in each.network and address != each.ip for each in own if each.version == address.version):
                return hop.via
        device = self.network.device(space, hop.device) if hop.device else None
        device = standing(device) if device is not None else None
        node = self.made.names[space]
        for owner in self.owners.get(hop.via or "", ()):
            for each in device.clones if device is not None else ():
                if each.peer is not None and each.peer.space == owner.space:
                    return self._far(each)
            link = self.made.links.get(standing(owner), "")
            name = self.made.names.get(owner.space)
            near = link in self.groups and node in self.members[self.groups[link]]
            if near and name != node and name in self.made.data["links"][link]["ends"]:
                return f"{name}.{link}"
        if device is not None:
            return self._far(device)
        return None if hop.via is not None and self._had(space, hop.via) else hop.via

    def _had(self, space: str, via: str) -> bool:
        """Return whether a subnet of the file's own addresses, which the lab has changed, holds this address."""
        address: Any = ipaddress.ip_address(via)
        own: list[Any] = [ipaddress.ip_interface(each).network for each in self.own.get(space, ())]
        return any(each.version == address.version and address in each for each in own)

    def _far(self, device: Device) -> str | None:
        """Return the other end of a device's link as NODE.LINK, or None if this is a switch."""
        link = self.made.links.get(device)
        if link is None or link not in self.made.data["links"]:
            return None
        node = self.made.names.get(device.space, "")
        other = next((each for each in self.made.data["links"][link]["ends"] if each != node), None)
        return f"{other}.{link}" if other is not None and other not in self.made.data.get("switches", {}) else None

    def _address(self, name: str, version: int) -> str:
        if self.topology.network.end(name) is None:
            return name
        try:
            return self.topology.network.address(name, version)
        except KeyError:
            return name


def note_differences(topology: Topology, made: Draft, network: FoundNetwork) -> None:
    """Note the tunnels whose outer addresses differ from the file's, and the MTUs that follow from other links."""
    overlays = {each.name: each for each in topology.network.overlays}
    for device, link in made.links.items():
        overlay = overlays.get(link)
        if overlay is None:
            continue
        node = made.names.get(device.space, "")
        side = next((number for end, number in overlay.sides() if end.node == node), 0)
        local = device.outer.get("local")
        if local and overlay.outer and overlay.outer[side] != local:
            what = f"{device.name}: its packets come from {overlay.outer[side]}, the first address of {node}"
            network.leave(device.where, f"{what}, instead of {local}")
        if device.mtu and device.mtu[0] != overlay.ends[side].mtu.bytes and overlay.kind is not Carried.BOND:
            size = overlay.ends[side].mtu
            what = f"an MTU of {device.mtu[0]} B for {device.name}: it follows from the links below, {size}"
            network.leave(device.mtu[1], f"{what}; set it in a route")


def _key(route: FoundRoute) -> tuple[str, int]:
    return route.destination, route.metrics.get("metric", 0)


def _differing(node: Node, given: list[_Ready]) -> list[_Ready]:
    """Return the routes that are not among those that the lab computes, and the routes within them.

    A declared route replaces the automatic routes within it, so the file's own routes there are declared, too.
    """
    destinations: list[Any] = [ipaddress.ip_network(each.route.destination) for each in given]
    automatic = [(route, _best(route, destinations)) for route in node.routes if route.via]
    wide = [own for each, own in zip(given, destinations, strict=True) if _adds(automatic, each, own)]
    return [
        each
        for each, own in zip(given, destinations, strict=True)
        if any(own.version == other.version and own.subnet_of(other) for other in wide)
    ]


def _adds(automatic: list[tuple[Route, Any]], given: _Ready, wanted: Any) -> bool:
    """Return whether a route is not one of those that the lab computes."""
    if len(given.via) > 1 or set(given.route.metrics) - {"metric"}:
        return True
    return any(best == wanted and route.via != given.addresses[0] for route, best in automatic)


def _best(route: Route, destinations: list[Any]) -> Any:
    """Return the longest of the given destinations that covers the route's destination, or None."""
    own: Any = ipaddress.ip_network(route.to)
    covering = [each for each in destinations if each.version == own.version and own.subnet_of(each)]
    return max(covering, key=lambda each: each.prefixlen, default=None)
