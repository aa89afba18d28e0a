"""Find the two ends of each bond, VLAN and tunnel: a file configures each end on its own, and a topology names both.

A device without a second end, or with more than one, is left out, or the link below takes its place. The file's problem
says which.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from lab.errors import InputError
from lab.ext.importing.domains import DEEPEST, FrameDomains, bridge_of, standing, vrf_of
from lab.ext.importing.found import Device, FoundNetwork
from lab.ext.importing.layered import TUNNELS

MOST_ENDS = 32  # of a tunnel, which becomes one tunnel for each pair of ends
MOST_CARRIED = 500  # bonds, VLANs and tunnels with two ends
MOST_TRIED = 1000  # devices that may be a tunnel's other end


def join(network: FoundNetwork) -> list[Device]:
    """Give bonds, VLANs and tunnels their other ends. Return one end of each, in an order in which each comes after
    the ones that carry it.

    The network notes everything that gets no end.
    """
    return _Joining(network, FrameDomains(network)).run()


@dataclass
class _Joining:
    network: FoundNetwork
    domains: FrameDomains
    found: list[Device] = field(default_factory=list)
    above: dict[int, list[Device]] = field(default_factory=dict)  # id of a device -> the VLANs and macvlans over it

    def run(self) -> list[Device]:
        for device in self.network.devices.values():
            if device.below is not None:
                self.above.setdefault(id(device.below), []).append(device)
        for bond in self.network.kind("bond"):
            self._bond(bond)
        self._stacked()
        vlans = sorted(self.network.kind("vlan"), key=_depth)
        for vlan in vlans:
            self._at_bridge(vlan)
        by_number: dict[int, list[Device]] = {}
        for vlan in vlans:
            if vlan.kind == "vlan":
                by_number.setdefault(vlan.number, []).append(vlan)
        tunnelled = {vlan for vlan in vlans if _base(vlan).kind in TUNNELS}
        for vlan in vlans:
            if vlan not in tunnelled:
                self._vlan(vlan, by_number.get(vlan.number, []))
        for kind in TUNNELS:
            self._tunnels(self.network.kind(kind))
        for vlan in filter(tunnelled.__contains__, vlans):
            self._vlan(vlan, by_number.get(vlan.number, []))
        return self.found

    def _pair(self, first: Device, second: Device) -> None:
        if len(self.found) >= MOST_CARRIED:
            where = f"{first.where.file}:{first.where.line}"
            raise InputError(f"{where}: more than {MOST_CARRIED} bonds, VLANs and tunnels; give a smaller network")
        first.peer, second.peer = second, first
        self.found.append(first)

    def _refuse(self, device: Device, why: str) -> None:
        self.network.leave(device.where, f"{device.name}: {why}")
        device.kind = "refused"

    def _merge(self, device: Device, into: Device, why: str) -> None:
        """Let the link below take a device's place, with its addresses, its master and the VLANs over it."""
        self.network.leave(device.where, f"{device.name}: {why}")
        for address, where in device.addresses.items():
            into.addresses.setdefault(address, where)
        if device.master is not None:
            self.domains.enslave(into, device.master)
        for each in self.above.get(id(device), []):
            each.below = into
            self.above.setdefault(id(into), []).append(each)
        device.kind, device.below, device.addresses, device.master = "merged", into, {}, None

    def _bond(self, bond: Device) -> None:
        if bond.peer is not None:
            return
        wires = self._wires(bond)
        peers = [each.peer for each in wires if each.peer is not None]
        others = {id(each.master): each.master for each in peers if each.master and each.master.kind == "bond"}
        spaces = list(dict.fromkeys(each.space for each in peers))
        if not wires:
            self._refuse(bond, "it has no link; put at least two into the bond")
        elif len(wires) == 1:
            self._apart(bond, wires, "a bond of one link is this link")
        elif bridge_of(bond) or any(bridge_of(each) for each in peers):
            why = "here, a bond ends at hosts and routers, and one end of this one is a switch"
            self._apart(bond, wires, f"{why}: its links stay separate, and {wires[0].name} has the addresses")
        elif len(spaces) > 1:
            why = f"its links lead to {' and '.join(spaces)}, and a bond here joins two nodes"
            self._apart(bond, wires, f"{why}: its links stay separate, and {wires[0].name} has the addresses")
        elif spaces == [bond.space] or (others and not self._mirrored(wires, [*others.values()])):
            why = f"its links are not in one bond at the other end, {spaces[0]}"
            self._apart(bond, wires, f"{why}: they stay separate, and {wires[0].name} has the addresses")
        else:
            self._pair(bond, next(iter(others.values())) if others else self._assumed_bond(bond, peers))
            self._alike(bond, wires)

    def _wires(self, bond: Device) -> list[Device]:
        return [each for each in self.domains.ports(bond) if each.peer is not None]

    def _mirrored(self, wires: list[Device], others: list[Device]) -> bool:
        """Return whether the far ends of the links are exactly those of one bond."""
        return len(others) == 1 and {id(each.peer) for each in wires} == {id(each) for each in self._wires(others[0])}

    def _alike(self, bond: Device, wires: list[Device]) -> None:
        """Give all links of a bond the bond's MTU, and note it if the mode of its other end differs."""
        other = bond.peer
        assert other is not None
        for wire in wires:
            wire.mtu = bond.mtu or wire.mtu
            if wire.peer is not None:
                wire.peer.mtu = other.mtu or wire.peer.mtu
        if other.options.get("mode", "balance-rr") != bond.options.get("mode", "balance-rr"):
            self.network.leave(other.where, f"{other.name}: the mode of the other end, {bond.space}, counts")

    def _assumed_bond(self, bond: Device, peers: list[Device]) -> Device:
        other = Device(peers[0].space, f"{bond.name}-{peers[0].name}", "bond", bond.where, options=dict(bond.options))
        other.master = next(filter(None, map(vrf_of, peers)), None)
        for each in peers:
            other.addresses |= each.addresses
            each.addresses = {}
            self.domains.enslave(each, other)
        self.network.leave(bond.where, f"{bond.name}: {other.space} is assumed to have the bond's other end")
        self.network.add(other)
        return other

    def _apart(self, bond: Device, wires: list[Device], why: str) -> None:
        """Make the links of a bond links of their own, of which the first has the bond's addresses."""
        for wire in wires:
            self.domains.enslave(wire, bond.master)
        self._merge(bond, wires[0], why)

    def _stacked(self) -> None:
        """Replace macvlans and ipvlans by the devices below them."""
        for device in self.network.kind("macvlan"):
            below = device.below
            if below is None or below.kind == "refused" or below.space != device.space:
                self._refuse(device, "a macvlan has no counterpart; connect the host to a switch")
            elif below.addresses or len(self.above[id(below)]) > 1:
                self._refuse(device, "a second device on this link has no counterpart; connect the host to a switch")
            else:
                self._merge(device, below, f"{below.name} takes its place: here, a device has one MAC address")

    def _at_bridge(self, vlan: Device) -> None:
        """Let the link below take a VLAN's place if the VLAN is a port of a bridge."""
        bridge, below = bridge_of(vlan), vlan.below
        if bridge is None:
            return
        if below is None or below.kind in ("refused", "bridge") or below.addresses or below.master is not None:
            self._refuse(vlan, f"here, a VLAN ends at hosts and routers, and {bridge.name} is a switch; give it a link")
        else:
            why = f"here, a VLAN ends at hosts and routers: {below.name} joins {bridge.name}, without the tag"
            self._merge(vlan, below, why)

    def _vlan(self, vlan: Device, alike: list[Device]) -> None:
        if vlan.kind != "vlan" or vlan.peer is not None:
            return
        below = standing(vlan.below) if vlan.below is not None else None
        if below is None or below.kind in ("refused", "ifb", "mesh") or (below.kind == "given" and below.peer is None):
            self._refuse(vlan, "no link of this file carries this VLAN")
            return
        if below.space != vlan.space:
            self._refuse(vlan, f"the link that carries this VLAN is in a different namespace, {below.space}")
            return
        around = self.domains.around(below)
        near = {id(each) for each in around}
        ends = [each for each in alike if each is not vlan and each.below and id(standing(each.below)) in near]
        free = [each for each in ends if each.peer is None and each.kind == "vlan"]
        if len(ends) > 1:
            self._several(vlan, [vlan, *ends])
        elif free:
            self._pair(vlan, free[0])
        elif ends:
            self._refuse(vlan, "its other end has a VLAN with this id already")
        elif len(stands := self._stands(vlan, around)) == 1:
            other = Device(stands[0].space, f"{stands[0].name}.{vlan.number}", "vlan", vlan.where, below=stands[0])
            other.number = vlan.number
            self.network.leave(vlan.where, f"{vlan.name}: {other.space} is assumed to have the VLAN's other end")
            self.network.add(other)
            alike.append(other)
            self._pair(vlan, other)
        elif below.addresses or self._uppers(below) > 1:
            self._refuse(vlan, f"no other host or router of this file is in the VLAN {vlan.number}")
        else:
            why = f"no other host or router of this file is in the VLAN {vlan.number}: {below.name} takes its place"
            self._merge(vlan, below, why)

    def _uppers(self, below: Device) -> int:
        return sum(each.kind == "vlan" for each in self.above.get(id(below), []))

    def _several(self, vlan: Device, ends: list[Device]) -> None:
        """Leave the tags out if a VLAN has several ends, and each is alone on its link. Refuse the VLAN otherwise."""
        below = [standing(each.below) for each in ends if each.below is not None]
        alone = all(not each.addresses and each.kind != "bridge" and self._uppers(each) == 1 for each in below)
        for each, under in zip(ends, below, strict=True):
            if alone:
                why = f"the VLAN {vlan.number} has {len(ends)} ends, and here it joins two nodes"
                self._merge(each, under, f"{why}: {under.name} takes its place, without the tag")
            elif each is vlan:
                self._refuse(each, f"a VLAN here joins two nodes, and this one has {len(ends)} ends; use a switch")

    def _stands(self, vlan: Device, around: list[Device]) -> list[Device]:
        """Return the devices that may be a VLAN's other end: the only one, or those of nodes without configuration."""
        others = [each for each in around if each.space != vlan.space and each.kind in ("veth", "bond", "far", "vlan")]
        others = [each for each in others if bridge_of(each) is None]
        bare = [each for each in others if self.network.spaces[each.space].about]
        return bare or [each for each in others if not each.addresses]

    def _tunnels(self, devices: list[Device]) -> None:
        for device in devices:
            if bridge := bridge_of(device):
                why = f"here, a tunnel ends at hosts and routers, and {bridge.name} is a switch; join the switches"
                self._refuse(device, why)
        own: dict[str, set[str]] = {}
        for device in self.network.devices.values():
            own.setdefault(device.space, set()).update(address.split("/")[0] for address in device.addresses)
        groups: dict[int, list[Device]] = {}
        for device in devices:
            if device.kind in TUNNELS:
                groups.setdefault(device.number, []).append(device)
        for group in groups.values():
            near: dict[str, list[Device]] = {}  # address -> the tunnels of its namespace
            for device in group:
                for address in own[device.space] | {device.outer.get("local", "")}:
                    near.setdefault(address, []).append(device)
            for device in group:
                if device.peer is None and device.kind in TUNNELS:
                    remote = device.outer.get("remote")
                    others = group[:MOST_TRIED] if remote is None else near.get(remote, [])[:MOST_TRIED]
                    self._tunnel(device, [each for each in others if _fits(device, each, own)], own)

    def _tunnel(self, device: Device, ends: list[Device], own: dict[str, set[str]]) -> None:
        ends = [each for each in ends if each.peer is None]
        remote, remotes = device.outer.get("remote"), device.outer.get("remotes", "").split()
        if remote is None and remotes:
            ends = [each for each in ends if own[each.space].intersection(remotes)]
        if ends and remote is not None:
            self._pair(device, max(ends, key=lambda each: "remote" in each.outer))
        elif len(ends) > 1:
            self._mesh([device, *ends[: MOST_ENDS - 1]])
        elif ends:
            self._pair(device, ends[0])
        else:
            instead = f", {remote}" if remote is not None else "; give it a remote address"
            self._refuse(device, f"no {device.kind} of this file is the tunnel's other end{instead}")

    def _mesh(self, ends: list[Device]) -> None:
        """Make one tunnel for each pair of the ends of a tunnel that has several."""
        first, *_ = ends
        taken = {each.number for each in self.network.kind("vxlan")}
        for number, end in enumerate(ends):
            for other in ends[number + 1 :]:
                pair = [
                    Device(each.space, each.name, each.kind, each.where, master=each.master) for each in (end, other)
                ]
                for made, each in zip(pair, (end, other), strict=True):
                    made.number, made.outer, made.master = first.number, dict(each.outer), each.master
                if first.kind == "vxlan" and (end, other) != (ends[0], ends[1]):
                    free = next(each for each in count(first.number % 2**23 + 1) if each not in taken)
                    taken.add(free)
                    pair[0].number = pair[1].number = free
                self._pair(pair[0], pair[1])
                for made, each in zip(pair, (end, other), strict=True):
                    each.clones.append(made)
        for end in ends:
            end.kind = "mesh"
            ids = ", each with an id of its own" if first.kind == "vxlan" else ""
            what = f"a tunnel with {len(ends)} ends: here, one tunnel for each pair{ids}"
            self.network.leave(end.where, f"{end.name}: {what}, with addresses that the lab chooses")


def _fits(device: Device, other: Device, own: dict[str, set[str]]) -> bool:
    """Return whether two devices may be the ends of one tunnel: their addresses do not contradict that."""
    if other.space == device.space or other.kind not in TUNNELS:
        return False
    for near, far in ((device, other), (other, device)):
        remote, local = near.outer.get("remote"), far.outer.get("local")
        if remote is not None and (remote != local if local is not None else remote not in own[far.space]):
            return False
    return True


def _depth(vlan: Device) -> int:
    depth, below = 0, vlan.below
    while below is not None and below.kind == "vlan" and depth < DEEPEST:
        depth, below = depth + 1, below.below
    return depth


def _base(vlan: Device) -> Device:
    below: Device = vlan
    for _ in range(DEEPEST):
        if below.below is None:
            break
        below = below.below
    return below
