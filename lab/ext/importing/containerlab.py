"""Read containerlab's topology files.

Sources: containerlab's docs/manual/topo-def-file.md and nodes.md. A node takes its settings from itself, its group, its
kind and the defaults, in this order. `exec` and `sysctls` of all four count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lab.ext.importing.following import Follower
from lab.ext.importing.found import Device, FoundNetwork
from lab.ext.importing.where import Where
from lab.spec.document import Document, Place
from lab.spec.errors import Problem, SpecError

MTU = 9500  # bytes: containerlab's default for its veth links
HOSTS = ("linux", "ext-container", "host")
SWITCHES = ("bridge", "ovs-bridge")
ROUTING = re.compile(r"frr|bird|gobgp|quagga|vyos|exabgp|openbgpd|holo|router", re.IGNORECASE)
_UNUSED = ("host", "mgmt-net", "macvlan", "dummy")


def read(document: Document, file: str) -> FoundNetwork:
    """Return the network that a containerlab file describes. Raises SpecError if the file has no topology with
    nodes.
    """
    return _Reader(document, file).run()


class _Reader:
    def __init__(self, document: Document, file: str) -> None:
        self.document, self.file = document, file
        topology = document.data.get("topology")
        if not isinstance(topology, Mapping) or not isinstance(topology.get("nodes"), Mapping):
            raise SpecError(
                [Problem(file, document.line(("topology",)), "has no nodes in a topology; name a containerlab file")]
            )
        self.topology = topology
        name = document.data.get("name") or Path(file).name.split(".")[0]
        self.network = FoundNetwork(f"{name}, imported from {Path(file).name}.", default_mtu=MTU)
        self.follower = Follower(self.network)
        self.switches: dict[str, Device] = {}

    def run(self) -> FoundNetwork:
        nodes = {str(name): node if isinstance(node, Mapping) else {} for name, node in self.topology["nodes"].items()}
        for name, node in nodes.items():
            self._node(name, node)
        for index, link in enumerate(_list(self.topology.get("links"))):
            self._link(("topology", "links", index), link, nodes)
        for name, node in nodes.items():
            self._run(name, node)
        if "mgmt" in self.document.data:
            self.network.leave(self._at(("mgmt",)), "mgmt: the lab needs no management network")
        return self.network

    def _at(self, place: Place) -> Where:
        return Where(self.file, self.document.line(place))

    def _layers(self, name: str, node: Mapping[str, Any]) -> Iterator[tuple[Place, Mapping[str, Any]]]:
        """Yield the places that have a node's settings, from the defaults to the node itself."""
        top = self.topology
        group = str(node.get("group") or "")
        groups, kinds = top.get("groups"), top.get("kinds")
        of_group = groups.get(group) if isinstance(groups, Mapping) else None
        defaults = top.get("defaults")
        kind = next(
            (
                str(each["kind"])
                for each in (node, of_group, defaults)
                if isinstance(each, Mapping) and each.get("kind")
            ),
            "",
        )
        of_kind = kinds.get(kind) if isinstance(kinds, Mapping) else None
        layers: list[tuple[Place, Any]] = [
            (("topology", "defaults"), defaults),
            (("topology", "kinds", kind), of_kind),
            (("topology", "groups", group), of_group),
            (("topology", "nodes", name), node),
        ]
        yield from ((place, each) for place, each in layers if isinstance(each, Mapping))

    def _setting(self, name: str, node: Mapping[str, Any], key: str) -> Any:
        """Return the most specific value of a key, or None."""
        found = None
        for _, layer in self._layers(name, node):
            found = layer.get(key, found)
        return found

    def _node(self, name: str, node: Mapping[str, Any]) -> None:
        where = self._at(("topology", "nodes", name))
        kind = str(self._setting(name, node, "kind") or "")
        if kind in SWITCHES:
            self.switches[name] = Device(f"bridge {name}", name, "bridge", where)
            self.network.add(self.switches[name])
            return
        space = self.network.space(name, where)
        if kind not in HOSTS:
            at = self._at(("topology", "nodes", name, "kind"))
            self.network.leave(
                at, f"kind {kind or 'missing'} of {name} has no counterpart: a Linux router takes its place"
            )
            space.forwards, space.about = True, kind
        image = str(self._setting(name, node, "image") or "")
        if kind in HOSTS and ROUTING.search(image.rpartition("/")[2]):
            space.forwards, space.about = True, image
            at = self._at(("topology", "nodes", name, "image"))
            self.network.leave(
                at, f"image {image} of {name}: the lab routes over the fewest routers, without its programs"
            )
        for key, instead in (("startup-config", "its configuration is not read"), ("stages", "stages are not read")):
            if key in node:
                self.network.leave(self._at(("topology", "nodes", name, key)), f"{key} of {name}: {instead}")

    def _link(self, place: Place, link: Any, nodes: Mapping[str, Any]) -> None:
        where = self._at(place)
        if not isinstance(link, Mapping):
            self.network.leave(where, "a link should be a mapping with endpoints")
            return
        ends = link.get("endpoints") or ([link["endpoint"]] if "endpoint" in link else [])
        kind = str(link.get("type", "veth"))
        split = [_endpoint(each) for each in _list(ends)]
        if kind != "veth" or len(split) != 2 or None in split:
            what = f"a link of type {kind}" if kind != "veth" else "a link needs two endpoints, NODE:INTERFACE each: it"
            self.network.leave(where, f"{what} has no counterpart: only links between two nodes are taken")
            return
        pair = [each for each in split if each is not None]
        for node, _ in pair:
            if node not in nodes:
                instead = (
                    "it leaves the lab" if node in _UNUSED or node.startswith(_UNUSED) else "there is no such node"
                )
                self.network.leave(where, f"a link to '{node}': {instead}")
                return
        devices = [self._device(node, name, where) for node, name in pair]
        for device, end in zip(devices, _list(ends), strict=True):
            mtu = link.get("mtu")
            if isinstance(mtu, int) and not isinstance(mtu, bool):
                device.mtu = (mtu, self._at((*place, "mtu")))
            if isinstance(end, Mapping):
                for key in ("ipv4", "ipv6"):
                    if isinstance(end.get(key), str):
                        self.follower.follow(["ip", "addr", "add", end[key], "dev", device.name], where, device.space)
        for key in ("ipv4", "ipv6"):
            for device, address in zip(devices, _list(link.get(key)), strict=False):
                if isinstance(address, str) and address:
                    self.follower.follow(["ip", "addr", "add", address, "dev", device.name], where, device.space)
        if any((device.space, device.name) in self.network.devices for device in devices):
            self.network.leave(where, "an endpoint of this link has a link already")
            return
        self.network.join((devices[0], devices[1]))

    def _device(self, node: str, name: str, where: Where) -> Device:
        if bridge := self.switches.get(node):
            return Device(bridge.space, name, "veth", where, master=bridge)
        return Device(node, name, "veth", where)

    def _run(self, name: str, node: Mapping[str, Any]) -> None:
        """Apply the commands and the sysctls of a node to the network."""
        if name in self.switches:
            return
        for place, layer in self._layers(name, node):
            sysctls = layer.get("sysctls")
            for key, value in sysctls.items() if isinstance(sysctls, Mapping) else ():
                where = self._at((*place, "sysctls", str(key)))
                self.follower.follow(["sysctl", "-w", f"{key}={value}"], where, name)
            for index, command in enumerate(_list(layer.get("exec"))):
                if isinstance(command, str):
                    self.follower.shell(command, self._at((*place, "exec", index)), name)
            self.follower.clock.epoch = 0


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _endpoint(value: Any) -> tuple[str, str] | None:
    if isinstance(value, Mapping):
        node, name = value.get("node"), value.get("interface")
        return (node, name) if isinstance(node, str) and isinstance(name, str) else None
    node, separator, name = str(value).partition(":")
    return (node, name) if separator and node and name else None
