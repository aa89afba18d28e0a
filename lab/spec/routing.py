"""Compute the routes of every host and router to every subnet, through the fewest routers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from lab.guest.network import Route
from lab.spec.addressing import End, Subnet, mtu
from lab.spec.format import TopologyPart
from lab.units import Size

Part = tuple[str, str]  # (node, VRF); "" outside VRFs


@dataclass(frozen=True)
class Routing:
    """Finds the automatic routes of a topology. Each VRF of a router forwards on its own, as a router beside it."""

    topology: TopologyPart
    subnets: tuple[Subnet, ...]
    interfaces: Mapping[End, str]  # the interface of every end

    def of(self, node: str, vrf: str = "") -> tuple[Route, ...]:
        """Return the routes of a node, or of its VRF.

        If two routes are equally short, the subnet and router that the file names first win. No route leads through a
        tunnel, except to the tunnel's own subnet.
        """
        part = node, vrf
        both = (chain(self._local(part, version), self._remote(part, version)) for version in (4, 6))
        return tuple(chain.from_iterable(both))

    def vrf_of(self, end: End) -> str:
        """Return the name of the VRF that an end of a link is in, or ""."""
        link, node = end
        return next((name for name, links in self.topology.node(node).vrfs.items() if link in links), "")

    def mtu(self, end: End) -> Size:
        """Return the largest IP packet that a node can send through this end."""
        name, node = end
        return mtu(self.topology, name, "forward" if node == next(iter(self.topology.links[name].ends)) else "back")

    def metrics(self, end: End) -> tuple[Size | None, Size | None]:
        """Return (mtu, advmss) for routes over this end.

        A device accepts only frames up to its own MTU (a veth drops longer frames). So the sender of the direction
        with the smaller MTU keeps the larger MTU on its device, and its routes carry the smaller MTU.
        """
        name, node = end
        link = self.topology.links[name]
        out, back = mtu(self.topology, name, "forward"), mtu(self.topology, name, "back")
        if node != next(iter(link.ends)):
            out, back = back, out
        return (out if out < back and link.carried is None else None), link.ends[node].advmss

    def attached(self, part: Part, version: int) -> Iterator[tuple[Subnet, End]]:
        """Yield the subnets and ends where a node is attached, in the order of the subnets."""
        for subnet, end in self._ends.get(part, ()):
            if version in subnet.prefixes:
                yield subnet, end

    def _local(self, part: Part, version: int) -> Iterator[Route]:
        """Yield the on-link routes that need their own MTU or MSS. The kernel adds all other on-link routes itself."""
        for subnet, end in self.attached(part, version):
            sends, advertises = self.metrics(end)
            if sends or advertises:
                yield Route(str(subnet.prefixes[version]), self.interfaces[end], None, sends, advertises)

    def _remote(self, part: Part, version: int) -> Iterator[Route]:
        hops: dict[tuple[str, ...], tuple[End, str] | None] = {}  # a subnet's links -> (leaving end, next hop)
        queue: deque[Subnet] = deque()
        leaving: dict[tuple[str, ...], End] = {}
        for subnet, end in self.attached(part, version):
            if subnet.links not in hops:
                hops[subnet.links], leaving[subnet.links] = None, end
                queue.append(subnet)
        while queue:
            near = queue.popleft()
            for member in self._routers[near.links] if not near.is_tunnel else ():
                router = member[1], self.vrf_of(member)
                if router == part:
                    continue
                for far, _ in self.attached(router, version):
                    if far.links not in hops:
                        hop = hops[near.links] or (leaving[near.links], ip(near, member, version))
                        hops[far.links] = hop
                        queue.append(far)
        for subnet in self.subnets:
            if found := hops.get(subnet.links):
                end, via = found
                yield Route(str(subnet.prefixes[version]), self.interfaces[end], via, *self.metrics(end))

    @cached_property
    def _ends(self) -> Mapping[Part, list[tuple[Subnet, End]]]:
        """Return, for each node and VRF, the subnets and ends where it is attached, in the order of the subnets."""
        found: dict[Part, list[tuple[Subnet, End]]] = {}
        for subnet in self.subnets:
            for end in subnet.members:
                found.setdefault((end[1], self.vrf_of(end)), []).append((subnet, end))
        return found

    @cached_property
    def _routers(self) -> Mapping[tuple[str, ...], list[End]]:
        """Return the ends of the routers in each subnet, by the subnet's links."""
        return {
            subnet.links: [end for end in subnet.members if end[1] in self.topology.routers] for subnet in self.subnets
        }


def ip(subnet: Subnet, end: End, version: int) -> str:
    """Return an end's address in its subnet, without prefix length."""
    return subnet.addresses[end][version].split("/")[0]
