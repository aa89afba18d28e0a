"""Find the links that carry each bond, VLAN and tunnel of a topology, and check them.

A tunnel's outer addresses are its nodes' first addresses on a wire, a bond or a VLAN, so that no tunnel carries itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from lab.base import ethernet
from lab.guest.network import WAYS, Carried
from lab.spec.document import Place
from lab.spec.errors import suggestion
from lab.spec.format import LinkPart, TopologyPart
from lab.spec.parts import MTU, MTU_MIN
from lab.units import Size

IPV4_HEADER, UDP_HEADER = 20, 8
OVERHEAD = {  # bytes in front of the IP packet that a tunnel carries, RFC 2784, 2890, 2003 and 7348
    Carried.GRE: IPV4_HEADER + 4,
    Carried.IPIP: IPV4_HEADER,
    Carried.VXLAN: IPV4_HEADER + UDP_HEADER + 8 + ethernet.HEADER,
}
KEY = 4  # bytes of a GRE key
TAG = 4  # bytes of a VLAN's tag
TUNNELS = tuple(OVERHEAD)
LONGEST_NAME = 15  # of an interface, IFNAMSIZ
DEFAULT_VNI = 1  # of a VXLAN without an id

End = tuple[str, str]  # (link, node)


@dataclass(frozen=True)
class Carriers:
    """Finds the links that carry other links."""

    links: Mapping[str, LinkPart]
    switches: frozenset[str]

    @classmethod
    def of(cls, topology: TopologyPart) -> Carriers:
        """Return the carriers of a topology."""
        return cls(topology.links, frozenset(topology.switches))

    @cached_property
    def bonded(self) -> dict[str, str]:
        """Return the wires in bonds, each with its bond. They have no addresses."""
        found: dict[str, str] = {}
        for name, link in self.links.items():
            for wire in link.bond or ():
                found.setdefault(wire, name)
        return found

    @cached_property
    def overlays(self) -> list[str]:
        """Return the names of the links that others carry, each after the ones that carry it."""
        found = [name for name, link in self.links.items() if link.carried]
        return sorted(found, key=self._rank)

    def _rank(self, name: str) -> tuple[int, int]:
        """Return what sorts overlays: bonds, VLANs, tunnels, and then VLANs that tunnels carry."""
        if self.kind(name) is not Carried.VLAN:
            return (0 if self.kind(name) is Carried.BOND else 2), 0
        trunks = [*self.trunks(name)]
        return (3 if any(self.links[each].tunnel for each in trunks) else 1), len(trunks)

    def kind(self, name: str) -> Carried:
        """Return the kind of an overlay."""
        kind = self.links[name].carried
        assert kind is not None
        return kind

    def trunks(self, name: str) -> Iterator[str]:
        """Yield the links below a VLAN, from the nearest on, up to a repeated one."""
        seen = {name}
        while (over := self.links[name].over) and over in self.links and over not in seen:
            yield over
            seen.add(over)
            name = over

    def domain(self, name: str) -> list[str]:
        """Return the links that switches join with this link, which come first in the file."""
        island = {name}
        for _ in self.links:
            joined = {end for each in island for end in self.links[each].ends} & self.switches
            more = {each for each, link in self.links.items() if joined & set(link.ends)}
            if more <= island:
                break
            island |= more
        return [each for each in self.links if each in island]

    def below(self, name: str, node: str) -> tuple[str, ...]:
        """Return the links that carry an overlay at its end on `node`; a tunnel has at most one."""
        link = self.links[name]
        if link.bond is not None:
            return link.bond
        if link.over is not None:
            near = (link.over, *self.domain(link.over))
            return tuple(each for each in near if node in self.links[each].ends)[:1]
        wires = (each for each, link in self.links.items() if not link.carried and each not in self.bonded)
        frames = (each for each in self.overlays if self._rank(each) < (2, 0))
        return next(((each,) for each in (*wires, *frames) if node in self.links[each].ends), ())

    def overhead(self, name: str) -> int:
        """Return the bytes that a link adds to an IP packet, of those that the links below count.

        A wire counts no tag, as the kernel keeps one beside the frame. A VXLAN carries the tags in its packets.
        """
        if self.kind(name) is Carried.VLAN:
            return TAG if any(self.links[each].tunnel for each in self.trunks(name)) else 0
        key = KEY if self.links[name].tunnel == "gre" and self.links[name].id else 0
        return OVERHEAD.get(self.kind(name), 0) + key

    def mtu(self, name: str, node: str) -> Size:
        """Return the largest IP packet that `node` can send over a link."""
        link = self.links[name]
        if link.carried is None:
            return link.way(WAYS[list(link.ends).index(node)], "mtu") or MTU
        least = min(self.mtu(each, node).bytes for each in self.below(name, node))
        return Size(least - self.overhead(name))


def mistakes(topology: TopologyPart) -> Iterator[tuple[Place, str]]:
    """Yield (place, message) for every overlay that no link can carry."""
    carriers = Carriers.of(topology)
    found = [name for name, link in topology.links.items() if link.carried]
    wrong: list[tuple[Place, str]] = []
    for name in found:
        wrong += _own(topology, carriers, name)
    yield from wrong
    if not wrong:
        yield from _twice(carriers)
        for name in found:
            least = min(carriers.mtu(name, node) for node in topology.links[name].ends)
            if least.bytes < MTU_MIN:
                message = f"its MTU would be {least}, less than {MTU_MIN} B; give the wires below a larger one"
                yield ("links", name), message
    taken = carriers.bonded
    for wire in dict.fromkeys(taken):
        for node, end in topology.links[wire].ends.items() if wire in topology.links else ():
            if end.addresses:
                yield (
                    ("links", wire, "ends", node, "addresses"),
                    f"the wire is part of the bond '{taken[wire]}', which has the addresses; give them to the bond",
                )


def _own(topology: TopologyPart, carriers: Carriers, name: str) -> Iterator[tuple[Place, str]]:
    link, kind = topology.links[name], carriers.kind(name)
    for node in link.ends:
        if node in topology.switches:
            yield ("links", name, "ends"), f"a {kind.value} ends at hosts and routers, but '{node}' is a switch"
    if kind is Carried.BOND:
        yield from _bond(carriers, name)
    elif kind is Carried.VLAN:
        yield from _vlan(carriers, name)
    else:
        for node in link.ends:
            if not (below := carriers.below(name, node)):
                yield ("links", name), f"'{node}' has no other link that could carry the tunnel; give it one"
            elif any(below[0] in links for links in topology.node(node).vrfs.values()):
                yield ("links", name), f"its packets would leave '{node}' through '{below[0]}', which is in a VRF"


def _bond(carriers: Carriers, name: str) -> Iterator[tuple[Place, str]]:
    links = carriers.links
    ends = set(links[name].ends)
    wires = links[name].bond or ()
    good: list[str] = []
    for index, wire in enumerate(wires):
        place: Place = ("links", name, "bond", index)
        if wire not in links:
            yield place, f"unknown link '{wire}'{suggestion(wire, links)}"
        elif links[wire].carried:
            yield place, f"'{wire}' is not a wire; a bond joins wires"
        elif set(links[wire].ends) != ends:
            joined = " and ".join(links[wire].ends)
            yield place, f"'{wire}' joins {joined}, but the bond joins {' and '.join(links[name].ends)}"
        elif wire in wires[:index] or carriers.bonded[wire] != name:
            yield place, f"'{wire}' is already in a bond"
        elif len({carriers.mtu(wire, node) for node in ends}) > 1:
            yield place, f"'{wire}' has a different MTU in each direction; a bond has one MTU"
        elif good and any(carriers.mtu(wire, node) != carriers.mtu(good[0], node) for node in ends):
            yield place, f"the MTUs of '{wire}' and '{good[0]}' differ; give them the same MTU"
        else:
            good.append(wire)


def _vlan(carriers: Carriers, name: str) -> Iterator[tuple[Place, str]]:
    links, over = carriers.links, str(carriers.links[name].over)
    place: Place = ("links", name, "over")
    chain = list(carriers.trunks(name))
    if over not in links:
        yield place, f"unknown link '{over}'{suggestion(over, links)}"
    elif (last := links[[name, *chain][-1]].over) in links:
        circle = " over ".join([name, *chain, str(last)])
        yield place, f"the links carry one another in a circle: {circle}"
    elif over in carriers.bonded:
        yield place, f"'{over}' is part of the bond '{carriers.bonded[over]}'; name the bond"
    elif links[over].carried in (Carried.GRE, Carried.IPIP):
        yield place, f"'{over}' carries IP packets, but not frames with a tag"
    else:
        for node in links[name].ends:
            if not carriers.below(name, node):
                yield place, f"'{over}' does not lead to '{node}'"


def _twice(carriers: Carriers) -> Iterator[tuple[Place, str]]:
    """Yield the overlays that the kernel could not tell from one another."""
    seen: dict[object, str] = {}
    for name in carriers.overlays:
        link, kind = carriers.links[name], carriers.kind(name)
        if kind is Carried.VLAN:
            keys: list[object] = [(end, link.vlan) for end in _ends(carriers, name)]
            place, what = ("links", name, "vlan"), f"VLAN {link.vlan} of '{link.over}' is"
        elif kind is Carried.VXLAN:  # the kernel tells a node's VXLANs apart by their ids alone
            keys = [(kind, link.id or DEFAULT_VNI, node) for node in link.ends]
            place, what = ("links", name, "tunnel"), f"a VXLAN of the same node has the id {link.id or DEFAULT_VNI}:"
        elif kind is not Carried.BOND:
            keys = [(kind, link.id, frozenset(_ends(carriers, name)))]
            place, what = ("links", name, "tunnel"), f"the same {kind.value} tunnel between these nodes is"
        else:
            continue
        for key in keys:
            if key in seen:
                more = "" if kind in (Carried.VLAN, Carried.IPIP) else "; give it a different id"
                yield place, f"{what} '{seen[key]}'{'' if kind is Carried.VXLAN else ' already'}{more}"
                break
            seen[key] = name


def _ends(carriers: Carriers, name: str) -> list[End]:
    return [(each, node) for node in carriers.links[name].ends for each in carriers.below(name, node)]
