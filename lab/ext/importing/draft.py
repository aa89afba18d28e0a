"""Turn the devices that were found into the data of a topology file, with the source line of each part."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lab.ext.importing.found import Device, FoundNetwork, Space
from lab.ext.importing.where import Where
from lab.spec.document import Place
from lab.units import Duration

STANDARD_MTU = 1500  # bytes; a topology leaves it out
_CHANGING = ("rate", "delay", "loss")
_LONGEST_NAME = 32


@dataclass
class Draft:
    """Holds the data of a topology file, where each part comes from, and the comments beside some parts."""

    data: dict[str, Any]
    sources: dict[Place, Where] = field(default_factory=dict)
    comments: dict[Place, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # the namespaces' names -> the nodes' names

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

    def run(self) -> Draft:
        pairs = [*self._pairs()]
        ended = {end.space for pair in pairs for end in pair if end.master is None}
        if len(self.network.spaces) == 1 and not self.network.root:
            ended.update(self.network.spaces)  # a host without a link is a topology, if there is no other
        for space in self.network.spaces.values():
            if space.name in ended:
                self._node(space)
            elif space.name != self.network.root and not any(
                each.space == space.name and each.kind == "bridge" for each in self.network.devices.values()
            ):
                self.network.leave(space.where, f"{space.name}: it has no link")
        for bridge in [each for each in self.network.devices.values() if each.kind == "bridge"]:
            if bridge.addresses and bridge.space not in self.nodes:
                self._node(self.network.space(bridge.space, bridge.where))
            name = self.nodes[bridge] = self._name(bridge.name)
            self.made.data["switches"][name] = {}
            self.made.sources["switches", name] = bridge.where
        for first, second in pairs:
            self._link(first, second)
        for bridge, name in [(each, name) for each, name in self.nodes.items() if isinstance(each, Device)]:
            if bridge.addresses:
                self._bridge_address(bridge, name)
        if self.made.names.get(self.network.root):
            self.made.comments["hosts",] = f"{self.made.names[self.network.root]}: the machine of the script"
        return self.made

    def _pairs(self) -> Iterator[tuple[Device, Device]]:
        """Yield the two devices of each link."""
        seen: set[int] = set()
        for device in list(self.network.devices.values()):
            if id(device) in seen or device.kind in ("bridge", "ifb", "refused"):
                continue
            if device.kind == "given":
                yield from self._given(device)
            elif device.peer is not None:
                seen |= {id(device), id(device.peer)}
                yield device, device.peer

    def _given(self, device: Device) -> Iterator[tuple[Device, Device]]:
        """Yield a link, with an assumed node at its other end, for each device that a script shapes but does not
        create.
        """
        shaped = any(tree.qdiscs for tree in device.trees.values()) or device.mirror
        is_root = bool(self.network.root) and device.space == self.network.root
        if not is_root or not shaped:
            instead = "no link of this file ends there" if is_root or self.network.root else "it is not a link's end"
            self.network.leave(device.where, f"{device.name}: {instead}")
            return
        others = sum(each.kind == "far" for each in self.network.devices.values())
        space = self.network.space(f"receiver{others + 1 if others else ''}", device.where)
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

    def _forwards(self, space: Space) -> bool:
        """Return whether a namespace forwards: its sysctls enable it, or another namespace has a route through it."""
        own = {
            address.split("/")[0]
            for device in self.network.devices.values()
            if device.space == space.name
            for address in device.addresses
        }
        return space.forwards or any(
            route.via in own for other in self.network.spaces.values() if other is not space for route in other.routes
        )

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
        return self.nodes[device.master if device.master is not None else device.space]

    def _link(self, first: Device, second: Device) -> None:
        ends = self._end(first), self._end(second)
        if ends[0] == ends[1]:
            self.network.leave(first.where, f"{first.name}: a link joins two nodes, and both ends are at {ends[0]}")
            return
        name = self._name("-".join(ends))
        made: dict[str, Any] = {"ends": {}}
        self.made.data["links"][name] = made
        self.made.sources["links", name] = first.where
        for device, node in zip((first, second), ends, strict=True):
            made["ends"][node] = self._settings_of_end(device, ("links", name, "ends", node))
            self.made.comments["links", name, "ends", node] = device.name
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

    def _settings_of_end(self, device: Device, place: Place) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if device.addresses and device.master is not None:
            for address, where in device.addresses.items():
                self.network.leave(where, f"{address}: a port of a bridge has no address")
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

    def _bridge_address(self, bridge: Device, switch: str) -> None:
        """Connect a bridge's namespace to the switch if the bridge has an address."""
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


def _downs(device: Device) -> list[tuple[int, int | None, Where]]:
    """Return the times when a link is down, which are the times when either end is down."""
    return [*device.downs, *(device.peer.downs if device.peer else ())]


def _number(value: str) -> int | str:
    return int(value) if re.fullmatch(r"\d{1,18}", value) else value
