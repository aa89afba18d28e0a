"""Name the namespaces of a network, one for each node and one for the wires, and find each node's neighbours."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

import msgspec

from lab.guest.fabric.namespace import Namespace
from lab.guest.fabric.netlink import Netlink
from lab.guest.network import Interface, Network, Node

WIRES = "wires"
LARGEST = 254  # ends of a subnet that know one another from the start; n of them need n x n entries


class Spaces(msgspec.Struct, frozen=True, dict=True):
    """Names the namespaces of `network`, each after `prefix` and the node. The prefix distinguishes two fabrics.

    `seed` decides the wires' random losses, delays and duplicates (`qdisc.prng_seed`). With `hurried`, the fabric
    avoids the second of real time in which the kernel notices the links. In virtual time, this second costs nothing.
    """

    network: Network
    prefix: str = ""
    seed: str = ""
    hurried: bool = False

    def of(self, node: str) -> Namespace:
        """Return the namespace of `node`, or of the wires (`WIRES`)."""
        return Namespace(self.prefix + node)

    @contextmanager
    def inside(self, node: str) -> Iterator[Netlink]:
        """Move the calling thread into this namespace for this context, and open a socket.

        Raises NamespaceError if the thread cannot enter.
        """
        with self.of(node).entered(), Netlink() as netlink:
            yield netlink

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """Every node by name."""
        return {node.name: node for node in self.network.nodes}

    @cached_property
    def interfaces(self) -> Mapping[str, list[Interface]]:
        """The interfaces of every node, in link order."""
        found: dict[str, list[Interface]] = {node: [] for node in self.nodes}
        for link in self.network.links:
            for end in link.ends:
                found[end.node].append(end)
        return found

    @cached_property
    def carried(self) -> Mapping[str, list[Interface]]:
        """The interfaces of every node whose links other links carry."""
        found: dict[str, list[Interface]] = {node: [] for node in self.nodes}
        for overlay in self.network.overlays:
            for end in overlay.ends:
                found[end.node].append(end)
        return found

    def neighbours(self, end: Interface) -> list[tuple[str, str]]:
        """Return (address, MAC) of all neighbours in the subnets of `end`, except subnets with more than `LARGEST`
        ends.

        In larger subnets, and if the network's nodes ask, ARP and neighbour discovery find the neighbours, as on real
        networks. An end without a hardware address has no neighbours.
        """
        found: dict[str, str] = {}
        asks = self.network.neighbours == "asked" or not end.mac
        for address in () if asks else end.addresses:
            members = self._subnets[ipaddress.ip_interface(address).network]
            if len(members) <= LARGEST:
                found |= {text: other.mac for other in members if other.node != end.node for text in other.addresses}
        return list(found.items())

    @cached_property
    def _subnets(self) -> Mapping[ipaddress.IPv4Network | ipaddress.IPv6Network, list[Interface]]:
        found: dict[ipaddress.IPv4Network | ipaddress.IPv6Network, list[Interface]] = {}
        for _, end in self.network.ends():
            for address in end.addresses:
                found.setdefault(ipaddress.ip_interface(address).network, []).append(end)
        return found
