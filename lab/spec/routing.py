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


@dataclass(frozen=True)
class Routing:
    """Finds the routes of a topology."""

    topology: TopologyPart
    subnets: tuple[Subnet, ...]
    interfaces: Mapping[End, str]  # the interface of every end

    def of(self, node: str) -> tuple[Route, ...]:
        """Return the routes of `node`.

        If two routes are equally short, the subnet and router that the file names first win.
        """
        both = (chain(self._local(node, version), self._remote(node, version)) for version in (4, 6))
        return tuple(chain.from_iterable(both))

    def _local(self, node: str, version: int) -> Iterator[Route]:
        """Yield the on-link routes that need their own MTU or MSS. The kernel adds all other on-link routes itself."""
        for subnet, end in self._attached(node, version):
            sends, advertises = self._metrics(end)
            if sends or advertises:
                yield Route(str(subnet.prefixes[version]), self.interfaces[end], None, sends, advertises)

    def _remote(self, node: str, version: int) -> Iterator[Route]:
        hops: dict[tuple[str, ...], tuple[End, str] | None] = {}  # a subnet's links -> (leaving end, next hop)
        queue: deque[Subnet] = deque()
        for subnet, _ in self._attached(node, version):
            if subnet.links not in hops:
                hops[subnet.links] = None
                queue.append(subnet)
        while queue:
            near = queue.popleft()
            for member in self._routers[near.links]:
                router = member[1]
                if router == node:
                    continue
                for far, _ in self._attached(router, version):
                    if far.links not in hops:
                        hops[far.links] = hops[near.links] or (self._end(near, node), _ip(near, member, version))
                        queue.append(far)
        for subnet in self.subnets:
            if hop := hops.get(subnet.links):
                end, via = hop
                yield Route(str(subnet.prefixes[version]), self.interfaces[end], via, *self._metrics(end))

    def _attached(self, node: str, version: int) -> Iterator[tuple[Subnet, End]]:
        for subnet, end in self._ends.get(node, ()):
            if version in subnet.prefixes:
                yield subnet, end

    @cached_property
    def _ends(self) -> Mapping[str, list[tuple[Subnet, End]]]:
        """Return, for each node, the subnets and ends where it is attached, in the order of the subnets."""
        found: dict[str, list[tuple[Subnet, End]]] = {}
        for subnet in self.subnets:
            for end in subnet.members:
                found.setdefault(end[1], []).append((subnet, end))
        return found

    @cached_property
    def _routers(self) -> Mapping[tuple[str, ...], list[End]]:
        """Return the ends of the routers in each subnet, by the subnet's links."""
        return {
            subnet.links: [end for end in subnet.members if end[1] in self.topology.routers] for subnet in self.subnets
        }

    def _metrics(self, end: End) -> tuple[Size | None, Size | None]:
        """Return (mtu, advmss) for routes over this end.

        A device accepts only frames up to its own MTU (a veth drops longer frames). So the sender of the direction
        with the smaller MTU keeps the larger MTU on its device, and its routes carry the smaller MTU.
        """
        name, node = end
        link = self.topology.links[name]
        out, back = mtu(self.topology, name, "forward"), mtu(self.topology, name, "back")
        if node != next(iter(link.ends)):
            out, back = back, out
        return (out if out < back else None), link.ends[node].advmss

    @staticmethod
    def _end(subnet: Subnet, node: str) -> End:
        return next(end for end in subnet.members if end[1] == node)


def _ip(subnet: Subnet, end: End, version: int) -> str:
    return subnet.addresses[end][version].split("/")[0]
