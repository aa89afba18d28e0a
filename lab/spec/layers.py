"""Name the interfaces of bonds, VLANs, tunnels and VRFs, and resolve the links that other links carry."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from lab.guest.network import Bonding, Carried, Interface, Overlay
from lab.spec.addressing import End, mac
from lab.spec.carried import DEFAULT_VNI, LONGEST_NAME, TUNNELS, Carriers
from lab.spec.document import Place
from lab.spec.errors import instead
from lab.spec.format import TopologyPart
from lab.spec.parts import Mistakes
from lab.units import Duration

FIRST = {Carried.BOND: 0}  # the number of a node's first interface of a kind; tunnels begin at 1: gre0 is the kernel's

# The names of interfaces that the lab gives, and of those that the kernel's tunnels have in each namespace.
_OWN = re.compile(r"(eth|bond|gre|gretap|erspan|ipip|tunl|vxlan|sit|ip6tnl|ip6gre)\d+")


def name(topology: TopologyPart, names: dict[End, str]) -> None:
    """Add the names of the interfaces of overlays: bond0, eth0.10, gre1, ipip1, vxlan1.

    Raises Mistakes for a name that is too long or taken, and for a VRF with a link that the node does not have.
    """
    carriers = Carriers.of(topology)
    count: Counter[tuple[str, Carried]] = Counter()
    mistakes: list[tuple[Place, str]] = []
    for overlay in carriers.overlays:
        kind = carriers.kind(overlay)
        for node in topology.links[overlay].ends:
            if kind is Carried.VLAN:
                (below,) = carriers.below(overlay, node)
                text = f"{names[below, node]}.{topology.links[overlay].vlan}"
                if len(text) > LONGEST_NAME:
                    message = f"its interface on '{node}' would be {text}, longer than {LONGEST_NAME} characters"
                    mistakes.append((("links", overlay, "vlan"), message))
            else:
                text = f"{kind.value}{FIRST.get(kind, 1) + count[node, kind]}"
                count[node, kind] += 1
            names[overlay, node] = text
    mistakes += _vrfs(topology, names)
    if mistakes:
        raise Mistakes(mistakes)


def _vrfs(topology: TopologyPart, names: Mapping[End, str]) -> Iterator[tuple[Place, str]]:
    bonded = Carriers.of(topology).bonded
    for kind, node, part in topology.nodes():
        own = [link for link, end in names if end == node]
        taken: dict[str, str] = {}
        for vrf, links in part.vrfs.items():
            if vrf in ("all", "default"):  # they stand for interfaces under /proc/sys/net/ipv4/conf
                yield (
                    (kind, node, "vrfs", vrf),
                    f"Linux allows no interface called '{vrf}'; choose a different name",
                )
            elif vrf in (*(names[link, node] for link in own), "lo") or _OWN.fullmatch(vrf):
                yield (kind, node, "vrfs", vrf), f"'{vrf}' is the name of an interface; choose a different name"
            for index, link in enumerate(links):
                place: Place = (kind, node, "vrfs", vrf, index)
                if link not in own:
                    yield place, f"'{link}' is not a link of '{node}'{instead(link, own)}"
                elif link in bonded:
                    yield place, f"'{link}' is part of the bond '{bonded[link]}'; name the bond"
                elif link in taken:
                    yield place, f"'{link}' is already in the VRF '{taken[link]}'"
                taken.setdefault(link, vrf)


def macs(topology: TopologyPart) -> dict[End, str]:
    """Return the MAC address of every end; "" for an end that has none.

    A bond gives its first wire's address to all of its wires. A VLAN has the address of the link that carries it.
    """
    carriers = Carriers.of(topology)
    found = {
        (link, node): mac(number, side)
        for number, (link, part) in enumerate(topology.links.items(), 1)
        for side, node in enumerate(part.ends, 1)
    }
    for overlay in carriers.overlays:
        for node in topology.links[overlay].ends:
            below = carriers.below(overlay, node)
            if carriers.kind(overlay) in (Carried.GRE, Carried.IPIP):
                found[overlay, node] = ""
            elif carriers.kind(overlay) in (Carried.BOND, Carried.VLAN):
                found[overlay, node] = found[below[0], node]
                if carriers.kind(overlay) is Carried.BOND:
                    found.update({(wire, node): found[below[0], node] for wire in below})
    return found


def overlay(
    topology: TopologyPart,
    link: str,
    names: Mapping[End, str],
    ends: tuple[Interface, Interface],
    addresses: Mapping[End, Mapping[int, str]],
) -> Overlay:
    """Return a resolved bond, VLAN or tunnel."""
    carriers = Carriers.of(topology)
    part, kind = topology.links[link], carriers.kind(link)
    first, second = ([(each, end.node) for each in carriers.below(link, end.node)] for end in ends)
    numbers = {Carried.VLAN: part.vlan, Carried.VXLAN: part.id or DEFAULT_VNI, Carried.GRE: part.id}
    outer = tuple(addresses[own[0]][4].split("/")[0] for own in (first, second)) if kind in TUNNELS else None
    return Overlay(
        name=link,
        kind=kind,
        ends=ends,
        below=(tuple(names[each] for each in first), tuple(names[each] for each in second)),
        outer=(outer[0], outer[1]) if outer else None,
        number=numbers.get(kind) or 0,
        mode=(part.mode or Bonding.BALANCE_RR) if kind is Carried.BOND else None,
        hash=part.hash or "layer2",
        probe=part.probe or Duration(0),
    )
