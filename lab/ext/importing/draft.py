"""Turn the devices that were found into the data of a topology file, with the source line of each part."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lab.ext.importing.domains import bridge_of, standing, vrf_of
from lab.ext.importing.found import Device, FoundNetwork, Space
from lab.ext.importing.gateways import give_gateways
from lab.ext.importing.iproute import between
from lab.ext.importing.joining import join
from lab.ext.importing.layered import TUNNELS
from lab.ext.importing.where import Where
from lab.spec.document import Place
from lab.units import Duration

STANDARD_MTU = 1500  # bytes; a topology leaves it out
_CHANGING = ("rate", "delay", "loss")
_LONGEST_NAME = 32
_LONGEST_VRF = 15


@dataclass
class Draft:
    """Holds the data of a topology file, where each part comes from, and the comments beside some parts."""

    data: dict[str, Any]
    sources: dict[Place, Where] = field(default_factory=dict)
    comments: dict[Place, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # the namespaces' names -> the nodes' names
    links: dict[Device, str] = field(default_factory=dict)  # both ends of each link, and bridges with an address

    def source(self, place: Place) -> Where | None:
        """Return the source line of the part at `place`, or of the nearest part around it."""
        while place and place not in self.sources:
            place = place[:-1]
        return self.sources.get(place)


def draft(network: FoundNetwork) -> Draft:
    """Return the topology of a network as unchecked data. Devices without a counterpart are left out."""
    return _Drafting(network).run()


class _Drafting:
    def __init__(self, network: FoundNetwork) -> None:
        self.network = network
        self.made = Draft({"about": network.about, "hosts": {}, "routers": {}, "switches": {}, "links": {}})
        self.taken: set[str] = set()
        self.nodes: dict[Device | str, str] = {}  # a bridge, or the name of a namespace -> its node
        self.receivers: dict[Device, str] = {}  # a bond of cards that a script does not make -> what is behind them
        self.used = {each.below for each in network.devices.values() if each.below is not None}

    def run(self) -> Draft:
        pairs = [*self._pairs()]
        overlays = join(self.network)
        give_gateways(self.network)
        self.through = self._next_hops()
        trunks = {standing(end.below) for each in overlays for end in (each, each.peer) if end and end.below}
        own = [each for each in self.network.kind("bridge") if each.addresses or each in trunks]
        ended = {end.space for pair in pairs for end in pair if bridge_of(end) is None}
        ended |= {each.space for each in own}
        if len(self.network.spaces) == 1 and not self.network.root:
            ended.update(self.network.spaces)  # a host without a link is a topology, if there is no other
        for space in self.network.spaces.values():
            if space.name in ended:
                self._node(space)
            elif space.name != self.network.root and not any(
                each.space == space.name and each.kind == "bridge" for each in self.network.devices.values()
            ):
                self.network.leave(space.where, f"{space.name}: it has no link")
        for bridge in self.network.kind("bridge"):
            name = self.nodes[bridge] = self._name(bridge.name)
            self.made.data["switches"][name] = {}
            self.made.sources["switches", name] = bridge.where
        for first, second in pairs:
            self._link(first, second)
        for bridge in own:
            self._bridge_address(bridge, self.nodes[bridge])
        for first in overlays:
            self._overlay(first)
        self._outer_first([each for each in overlays if each.kind in TUNNELS])
        self._vrfs()
        if self.made.names.get(self.network.root):
            self.made.comments["hosts",] = f"{self.made.names[self.network.root]}: the machine of the script"
        return self.made

    def _pairs(self) -> Iterator[tuple[Device, Device]]:
        """Yield the two devices of each link."""
        seen: set[int] = set()
        for device in list(self.network.devices.values()):
            if id(device) in seen:
                continue
            if device.kind == "given":
                yield from self._given(device)
            elif device.kind in ("veth", "far") and device.peer is not None:
                seen |= {id(device), id(device.peer)}
                yield device, device.peer

    def _given(self, device: Device) -> Iterator[tuple[Device, Device]]:
        """Yield a link, with an assumed node at its other end, for each device that a script shapes but does not
        create.
        """
        bond = device.master if device.master is not None and device.master.kind == "bond" else None
        shaped = any(tree.qdiscs for tree in device.trees.values()) or device.mirror or bond or device in self.used
        is_root = bool(self.network.root) and device.space == self.network.root
        if not is_root or not shaped:
            instead = "no link of this file ends there" if is_root or self.network.root else "it is not a link's end"
            self.network.leave(device.where, f"{device.name}: {instead}")
            return
        others = sum(each.kind == "far" for each in self.network.devices.values())
        name = f"receiver{others + 1 if others else ''}"
        name = self.receivers.setdefault(bond, name) if bond else name
        space = self.network.space(name, device.where)
        space.about = f"what is behind {device.name}"
        far = Device(space.name, device.name, "far", device.where, peer=device)
        device.peer = far
        self.network.devices[far.space, far.name] = far
        yield device, far

    def _node(self, space: Space) -> None:
        kind = "routers" if self._forwards(space) else "hosts"
        wanted = space.name
        if space.name == self.network.root:
            far = any(device.kind == "far" for device in self.network.devices.values())
            wanted = "sender" if far and kind == "hosts" else "root"
        name = self.nodes[space.name] = self.made.names[space.name] = self._name(wanted)
        settings: dict[str, Any] = {}
        if space.sysctls:
            settings["sysctls"] = {key: _number(value) for key, (value, _) in space.sysctls.items()}
            for key, (_, where) in space.sysctls.items():
                self.made.sources[kind, name, "sysctls", key] = where
        self.made.data[kind][name] = settings
        self.made.sources[kind, name] = space.where
        said = [space.about] if space.about else []
        if wanted != name:
            said.insert(0, f"{wanted!r} in the file")
        if said:
            self.made.comments[kind, name] = "; ".join(said)

    def _next_hops(self) -> set[str]:
        """Return the namespaces through which another one has a route."""
        owners: dict[str, set[str]] = {}
        for device in self.network.devices.values():
            for address in device.addresses:
                owners.setdefault(address.split("/")[0], set()).add(device.space)
        found: set[str] = set()
        for space in self.network.spaces.values():
            for route in space.routes:
                for hop in route.hops:
                    own = self.network.device(space.name, hop.device)
                    peer = standing(own).peer if own is not None else None
                    if hop.via in owners:
                        found |= owners[hop.via] - {space.name}
                    elif own is not None and peer is not None and not _is_near(route.destination, own):
                        found.add(peer.space)
        return found

    def _forwards(self, space: Space) -> bool:
        """Return whether a namespace forwards: its sysctls enable it, or another namespace has a route through it."""
        return space.forwards or space.name in self.through

    def _name(self, wanted: str) -> str:
        """Return a name that a topology accepts and no other node or link has."""
        plain = re.sub(r"[^A-Za-z0-9_-]", "-", wanted)[:_LONGEST_NAME] or "node"
        plain = plain if plain[0].isalpha() and plain[0].isascii() else f"n{plain}"[:_LONGEST_NAME]
        name, number = plain, 2
        while name in self.taken:
            name = f"{plain[: _LONGEST_NAME - 6]}-{number}"
            number += 1
        self.taken.add(name)
        return name

    def _end(self, device: Device) -> str:
        return self.nodes[bridge_of(device) or device.space]

    def _link(self, first: Device, second: Device) -> None:
        ends = self._end(first), self._end(second)
        if ends[0] == ends[1]:
            self.network.leave(first.where, f"{first.name}: a link joins two nodes, and both ends are at {ends[0]}")
            return
        name, made = self._begun("-".join(ends), first, second)
        ways = self._way(first), self._way(second)
        for key in dict.fromkeys([*ways[0], *ways[1]]):
            if key in ways[0] and key in ways[1] and ways[0][key][0] == ways[1][key][0]:
                made[key] = ways[0][key][0]
                self.made.sources["links", name, key] = ways[0][key][1]
                continue
            for way, given in zip(("forward", "back"), ways, strict=True):
                if key in given:
                    made.setdefault(way, {})[key] = given[key][0]
                    self.made.sources["links", name, way, key] = given[key][1]

    def _begun(self, wanted: str, first: Device, second: Device) -> tuple[str, dict[str, Any]]:
        """Add a link with its ends and their addresses. Two addresses of their own share the smallest prefix."""
        name = self._name(wanted)
        made: dict[str, Any] = {"ends": {}}
        self.made.data["links"][name] = made
        self.made.sources["links", name] = first.where
        one, two = (next((each for each in end.addresses if each.endswith("/32")), "") for end in (first, second))
        if one and two and bridge_of(first) is bridge_of(second) is None:
            for device, own, other in ((first, one, two), (second, two, one)):
                if wide := between(own, other.split("/")[0]):
                    device.addresses = {wide if each == own else each: at for each, at in device.addresses.items()}
        for device in (first, second):
            node = self._end(device)
            made["ends"][node] = self._settings_of_end(device, ("links", name, "ends", node))
            self.made.comments["links", name, "ends", node] = device.name
            self.made.links[device] = name
        return name, made

    def _settings_of_end(self, device: Device, place: Place) -> dict[str, Any]:
        made: dict[str, Any] = {}
        master = device.master.kind if device.master is not None and device.kind != "bridge" else ""
        if device.addresses and master in ("bridge", "bond"):
            for address, where in device.addresses.items():
                self.network.leave(where, f"{address}: a port of a {master} has no address")
        elif device.addresses:
            made["addresses"] = list(device.addresses)
            for index, where in enumerate(device.addresses.values()):
                self.made.sources[*place, "addresses", index] = where
        on = {flag: is_on for flag, (is_on, _) in device.offloads.items() if is_on}
        if on:
            made["offloads"] = on
            self.made.sources[*place, "offloads"] = next(iter(device.offloads.values()))[1]
        return made

    def _way(self, device: Device) -> dict[str, tuple[Any, Where]]:
        """Return the settings of the direction that leaves through `device`, with their lines."""
        found = dict(device.settings)
        mirror = device.peer.mirror if device.peer is not None else None
        for each in (device, mirror):
            if each is not None:
                found |= self._queues(each)
        mtu, where = device.mtu or (self.network.default_mtu or STANDARD_MTU, device.where)
        if mtu != STANDARD_MTU:
            found["mtu"] = (f"{mtu} B", where)
        downs = [
            (at, {"at": str(Duration(at)), "down": str(Duration(to - at))}, where)
            for at, to, where in _downs(device)
            if to is not None
        ]
        for at, _, where in [each for each in _downs(device) if each[1] is None]:
            self.network.leave(where, f"down from {Duration(at)} on: `changes` needs a time at which it is up again")
        changes = sorted([*self._changes(device), *downs], key=lambda each: each[0])
        if changes:
            found["changes"] = ([change for _, change, _ in changes], changes[0][2])
        return found

    def _queues(self, device: Device) -> dict[str, tuple[Any, Where]]:
        if not device.trees:
            return {}
        settings = device.trees[min(device.trees)].settings() if min(device.trees) == 0 else None
        for tree in device.trees.values():
            for where, message in tree.settings().untaken:
                self.network.leave(where, message)
        return settings.keys if settings else {}

    def _changes(self, device: Device) -> Iterator[tuple[int, dict[str, Any], Where]]:
        """Yield (ns, change, line) for each later time at which the qdiscs differ."""
        before: dict[str, tuple[Any, Where]] = {}
        for at in sorted(device.trees):
            settings = device.trees[at].settings().keys
            if at:
                change: dict[str, Any] = {"at": str(Duration(at))}
                where = device.where
                for key in dict.fromkeys([*before, *settings]):
                    now, then = settings.get(key), before.get(key)
                    if (now and now[0]) == (then and then[0]):
                        continue
                    where = (now or then or (None, where))[1]
                    if key not in _CHANGING or (now is None and key == "rate"):
                        if key not in ("limit", "queue"):
                            message = f"{key} changes at {Duration(at)}: `changes` has rate, delay, loss, mtu and down"
                            self.network.leave(where, message)
                        continue
                    change[key] = now[0] if now else "0 %" if key == "loss" else "0 s"
                if len(change) > 1:
                    yield at, change, where
            before = settings

    def _overlay(self, first: Device) -> None:
        """Add a bond, a VLAN or a tunnel, if there are the links that carry it."""
        second = first.peer
        assert second is not None
        wires = [each for each in self.made.links if each.master is first and each.kind in ("veth", "far", "given")]
        wires.sort(key=lambda each: each.name != first.options.get("primary"))
        below = self.made.links.get(standing(first.below)) if first.below is not None else None
        lost = (first.kind == "bond" and len(wires) < 2) or (first.kind == "vlan" and below is None)
        if lost or first.space not in self.nodes or second.space not in self.nodes:
            self.network.leave(first.where, f"{first.name}: its links were left out")
            return
        _, made = self._begun(first.name, first, second)
        if first.kind == "bond":
            made["bond"] = [self.made.links[each] for each in wires]
            made |= {key: first.options[key] for key in ("mode", "hash", "probe") if key in first.options}
        elif first.kind == "vlan":
            made |= {"vlan": first.number, "over": below}
        else:
            made |= {"tunnel": first.kind, **({"id": first.number} if first.number else {})}
        for device in (first, second):
            for tree in device.trees.values():
                for qdisc in tree.qdiscs.values():
                    self.network.leave(qdisc.where, f"{qdisc.kind} of {device.name}: set it on the links that carry it")
            for _, _, where in device.downs:
                self.network.leave(where, f"{device.name} goes down: `changes` belong to the links that carry it")

    def _outer_first(self, tunnels: list[Device]) -> None:
        """Put the links with the tunnels' outer addresses first: a tunnel uses the first address of its node."""
        own = {(each.space, address.split("/")[0]): each for each in self.made.links for address in each.addresses}
        ends = [end for each in tunnels for end in (each, each.peer) if end is not None]
        first = [own.get((each.space, each.outer.get("local", ""))) for each in ends]
        names = {self.made.links[each] for each in first if each is not None}
        carried = {name for name, link in self.made.data["links"].items() if {"bond", "vlan", "tunnel"} & set(link)}
        order = sorted(self.made.data["links"].items(), key=lambda each: (each[0] in carried, each[0] not in names))
        self.made.data["links"] = dict(order)

    def _vrfs(self) -> None:
        """Add the VRFs of all nodes, with their links."""
        for device, name in self.made.links.items():
            vrf, node = vrf_of(device), self.nodes.get(device.space)
            if vrf is None or node is None:
                continue
            kind = "hosts" if node in self.made.data["hosts"] else "routers"
            plain = re.sub(r"[^A-Za-z0-9_-]", "-", vrf.name)
            plain = (plain if plain[:1].isalpha() and plain.isascii() else f"vrf{plain}")[:_LONGEST_VRF]
            self.made.data[kind][node].setdefault("vrfs", {}).setdefault(plain, []).append(name)
            self.made.sources[kind, node, "vrfs", plain] = vrf.where

    def _bridge_address(self, bridge: Device, switch: str) -> None:
        """Connect a bridge's namespace to the switch."""
        node = self.nodes[bridge.space]
        name = self._name(f"{node}-{switch}")
        place: Place = ("links", name, "ends", node)
        made: dict[str, Any] = {"ends": {node: self._settings_of_end(bridge, place), switch: {}}}
        mtu = self.network.default_mtu or STANDARD_MTU
        if mtu != STANDARD_MTU:
            made["mtu"] = f"{mtu} B"
        self.made.data["links"][name] = made
        self.made.sources["links", name] = bridge.where
        self.made.comments[place] = bridge.name
        self.made.links[bridge] = name


def _downs(device: Device) -> list[tuple[int, int | None, Where]]:
    """Return the times when a link is down, which are the times when either end is down."""
    return [*device.downs, *(device.peer.downs if device.peer else ())]


def _is_near(destination: str, device: Device) -> bool:
    """Return whether a destination is in the subnet of a device, or contains it."""
    wanted = ipaddress.ip_network(destination)
    own = [ipaddress.ip_interface(each).network for each in device.addresses]
    return bool(wanted.prefixlen) and any(each.version == wanted.version and each.overlaps(wanted) for each in own)


def _number(value: str) -> int | str:
    return int(value) if re.fullmatch(r"\d{1,18}", value) else value
