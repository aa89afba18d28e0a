"""Read containerlab's topology files.

Sources: containerlab's docs/manual/topo-def-file.md and nodes.md. A node takes its settings from itself, its group, its
kind and the defaults, in this order. `exec` and `sysctls` of all four count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lab.base import foreign
from lab.ext.importing import script
from lab.ext.importing.following import Follower
from lab.ext.importing.found import Device, FoundNetwork
from lab.ext.importing.where import Where
from lab.spec.document import Document, Place
from lab.spec.errors import Problem, SpecError, display, suggestion

MTU = 9500  # bytes: containerlab's default for its veth links
HOSTS = ("linux", "ext-container", "host")
SWITCHES = ("bridge", "ovs-bridge")
ROUTING = re.compile(r"frr|bird|gobgp|quagga|vyos|exabgp|openbgpd|holo|router", re.IGNORECASE)
KEYS = ("name", "prefix", "mgmt", "settings", "topology")  # of a file
KEYS_OF_TOPOLOGY = ("defaults", "kinds", "groups", "nodes", "links")
KEYS_READ = ("kind", "group", "image", "startup-config", "exec", "binds", "sysctls", "stages")  # of a node
NODE_NAME = "__clabNodeName__"  # stands for the node's name in commands and paths
STAGES = ("create", "create-links", "configure", "healthy", "exit")
MOST_BYTES = 1 << 20  # of a script that a node starts
_OTHER_KEYS = {"enforce-startup-config", "suppress-startup-config"}  # of a node, which resemble those above
_ALIKE = 0.75  # of a misspelt word; containerlab has further keys and kinds, which the lab does not know
_SHELLS = {"sh", "bash", "ash", "dash"}
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
        problems = [*_misspelt(document.data, KEYS), *_misspelt(topology, KEYS_OF_TOPOLOGY, ("topology",))]
        if problems:
            raise SpecError(Problem(file, document.line(place), message) for place, message in problems)
        if not isinstance(topology, Mapping) or not isinstance(topology.get("nodes"), Mapping):
            raise SpecError(
                [Problem(file, document.line(("topology",)), "has no nodes in a topology; name a containerlab file")]
            )
        self.topology = topology
        name = document.data.get("name") or Path(file).name.split(".")[0]
        self.network = FoundNetwork(f"{name}, imported from {Path(file).name}.", default_mtu=MTU, are_containers=True)
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
        for place, layer in self._layers(name, node):
            for key, message in _misspelt(layer, KEYS_READ, place):
                self.network.leave(self._at(key), message)
        kind = str(self._setting(name, node, "kind") or "")
        if kind in SWITCHES:
            self.switches[name] = Device(f"bridge {name}", name, "bridge", where)
            self.network.add(self.switches[name])
            return
        space = self.network.space(name, where)
        if kind not in HOSTS:
            at = self._at(("topology", "nodes", name, "kind"))
            meant = suggestion(kind, (*HOSTS, *SWITCHES), _ALIKE)
            self.network.leave(
                at, f"kind {kind or 'missing'} of {name} has no counterpart: a Linux router takes its place{meant}"
            )
            space.forwards, space.about = True, kind
        image = str(self._setting(name, node, "image") or "")
        if kind in HOSTS and ROUTING.search(image.rpartition("/")[2]):
            space.forwards, space.about = True, image
            at = self._at(("topology", "nodes", name, "image"))
            self.network.leave(
                at, f"image {image} of {name}: the lab routes over the fewest routers, without its programs"
            )
        if "startup-config" in node:
            at = self._at(("topology", "nodes", name, "startup-config"))
            self.network.leave(at, f"startup-config of {name}: its configuration is not read")

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
        binds: dict[str, str] = {}
        for place, layer in self._layers(name, node):
            sysctls = layer.get("sysctls")
            for key, value in sysctls.items() if isinstance(sysctls, Mapping) else ():
                where = self._at((*place, "sysctls", str(key)))
                self.follower.follow(["sysctl", "-w", f"{key}={value}"], where, name)
            binds |= _binds(layer, name)
            for at, command in _commands(layer):
                self._command(command.replace(NODE_NAME, name), self._at((*place, *at)), name, binds)
            self.follower.clock.epoch = 0

    def _command(self, text: str, where: Where, space: str, binds: Mapping[str, str]) -> None:
        """Apply a command, or the script of the user's that it starts, which is beside the file."""
        words = text.split()
        while words and words[0].rpartition("/")[2] in _SHELLS | {"-x", "-e", "-ex", "source", "."}:
            words = words[1:]
        inside = next((each for each in binds if words and f"{words[0]}/".startswith(f"{each}/")), None)
        if inside is not None:
            folder = self.document.path.resolve().parent
            path = (folder / (binds[inside] + words[0][len(inside) :])).resolve()
            source = _script(path) if path.is_relative_to(folder) else None
            if source is not None:
                take, given = self.follower.follow, {str(number): word for number, word in enumerate(words[1:], 1)}
                start, leave = Where(display(path), 1), self.network.leave
                script.read(source, start, lambda line, at, out: take(line, at, space, out), leave, given)
                return
        self.follower.shell(text, where, space)


def _misspelt(part: Any, known: tuple[str, ...], place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Yield the place of each unknown key that resembles a known one, with a message."""
    for key in part if isinstance(part, Mapping) else ():
        if key not in known and key not in _OTHER_KEYS and (meant := suggestion(str(key), known, _ALIKE)):
            yield (*place, key), f"unknown key '{key}'{meant}"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> list[tuple[int, str]]:
    """Return the texts in a list, with their indices."""
    return [(index, each) for index, each in enumerate(_list(value)) if isinstance(each, str)]


def _binds(layer: Mapping[str, Any], node: str) -> dict[str, str]:
    """Return the paths in the container with the paths beside the file that appear there."""
    split = [text.replace(NODE_NAME, node).split(":") for _, text in _texts(layer.get("binds"))]
    return {parts[1].rstrip("/"): parts[0] for parts in split if len(parts) > 1 and parts[1].rstrip("/")}


def _commands(layer: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield the commands that a node runs, in its stages and then in `exec`, with their places in the layer."""
    stages = layer.get("stages")
    for stage in STAGES:
        part = stages.get(stage) if isinstance(stages, Mapping) else None
        for index, each in enumerate(_list(part.get("exec") if isinstance(part, Mapping) else None)):
            if isinstance(each, Mapping) and isinstance(each.get("command"), str) and each.get("target") != "host":
                yield ("stages", stage, "exec", index), each["command"]
    yield from ((("exec", index), each) for index, each in _texts(layer.get("exec")))


def _script(path: Path) -> str | None:
    """Return the text of a script, or None if there is no such file."""
    try:
        return foreign.read(path, MOST_BYTES).decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError, foreign.Unfit):
        return None


def _endpoint(value: Any) -> tuple[str, str] | None:
    if isinstance(value, Mapping):
        node, name = value.get("node"), value.get("interface")
        return (node, name) if isinstance(node, str) and isinstance(name, str) else None
    node, separator, name = str(value).partition(":")
    return (node, name) if separator and node and name else None
