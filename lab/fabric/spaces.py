"""Say where a network is: a namespace for each node and one for the wires, and who is whose neighbour."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from lab.fabric.namespace import Namespace
from lab.fabric.netlink import Netlink
from lab.spec.network import Interface, Network, Node

WIRES = "wires"
LARGEST = 254  # ends of a subnet that know one another from the start; n of them make n x n entries


@dataclass(frozen=True)
class Spaces:
    """Names the namespaces of `network`, each by `prefix` and the node; the prefix keeps two fabrics apart.

    `seed` decides what the wires lose, delay and duplicate where that is left to chance (`qdisc.prng_seed`). `hurried`:
    the network is not to take a second of real time to begin; in virtual time that second costs nothing.
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
        """Keep the calling thread there within this context, with a socket. Raises NamespaceError when it cannot go."""
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

    def neighbours(self, end: Interface) -> list[tuple[str, str]]:
        """Return (address, MAC) of all others in the subnets of `end`; none of a subnet with more than `LARGEST` ends.

        There ARP and neighbour discovery find them, as on real networks.
        """
        found: dict[str, str] = {}
        for address in end.addresses:
            members = self._subnets[ipaddress.ip_interface(address).network]
            if len(members) <= LARGEST:
                found |= {text: other.mac for other in members if other.node != end.node for text in other.addresses}
        return list(found.items())

    @cached_property
    def _subnets(self) -> Mapping[ipaddress.IPv4Network | ipaddress.IPv6Network, list[Interface]]:
        found: dict[ipaddress.IPv4Network | ipaddress.IPv6Network, list[Interface]] = {}
        for link in self.network.links:
            for end in link.ends:
                for address in end.addresses:
                    found.setdefault(ipaddress.ip_interface(address).network, []).append(end)
        return found
