"""Read `ip link` and the older commands for links, and keep the devices that they would create."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lab.ext.importing import layered, quantities
from lab.ext.importing.found import Device, FoundNetwork
from lab.ext.importing.where import Where

LINKS: Mapping[str, str] = {
    "team": "use a bond",
    "gretap": "use a tunnel of the kind vxlan, which carries frames, too",
    "ip6gre": "use a tunnel of the kind gre, through IPv4",
    "ip6tnl": "use a tunnel of the kind gre, through IPv4",
    "sit": "use a tunnel of the kind gre, which carries IPv6, too",
    "geneve": "use a tunnel of the kind vxlan",
    "wireguard": "use a tunnel of the kind gre: it adds 24 B, and WireGuard 60 B",
    "xfrm": "use a tunnel of the kind gre, without encryption",
    "tun": "join both ends with a link",
    "tap": "join both ends with a link",
    "dummy": "the lab has no interface without a link; add a host",
}
_VERBS = ("add", "set", "delete", "show", "list", "lst", "property", "afstats")
# `ip link` accepts beginnings of these words. One letter stays a name, except for `l`.
_BEGINNINGS = (
    *("link", "address", "broadcast", "txqueuelen", "master", "nomaster", "type", "alias", "numtxqueues"),
    "numrxqueues",
)
_WITH_VALUE = {"link", "name", "mtu", "netns", "address", "broadcast", "brd", "txqueuelen", "qlen", "txqlen", "master"}
_WITH_VALUE |= {"vrf", "alias", "group", "mode", "state", "index", "numtxqueues", "numrxqueues", "addrgenmode", "dev"}
_WITH_VALUE |= {"multicast", "allmulticast", "promisc", "trailers", "arp", "carrier", "protodown", "link-netns"}
_WITH_VALUE |= {"gso_max_size", "gso_max_segs", "gro_max_size"}
_QUIET = {"multicast", "allmulticast", "promisc", "trailers", "arp", "carrier", "address", "broadcast", "brd", "alias"}
_QUIET |= {"group", "addrgenmode", "mode", "state", "index", "protodown", "numtxqueues", "numrxqueues", "link-netns"}


@dataclass
class ScriptTime:
    """Holds the time that the commands have reached, and the number of programs whose duration is unknown."""

    now: int = 0  # ns since the network was up
    epoch: int = 0  # programs so far

    @property
    def is_setting_up(self) -> bool:
        """Return whether no time has passed."""
        return not self.now and not self.epoch


@dataclass
class LinkCommands:
    """Applies the commands that create devices, change them and connect them."""

    network: FoundNetwork
    clock: ScriptTime

    def link(self, verb: str, rest: list[str], where: Where, space: str) -> None:
        """Apply an `ip link` command to the network. Raises ValueError if the command has no counterpart."""
        full = next((each for each in _VERBS if each.startswith(verb)), {"change": "set", "replace": "add"}.get(verb))
        if full == "add":
            self._add(rest, where, space)
        elif full == "set":
            self._set(rest, where, space)
        elif full == "delete":
            words = [each for each in rest if each not in ("dev", "link")]
            device = self.network.device(space, words[0])
            if device and self.clock.is_setting_up:
                self.network.remove(device)
        elif full is None:
            raise ValueError(f"ip link {verb[:40]} has no counterpart")

    def _add(self, rest: list[str], where: Where, space: str) -> None:
        at = next((index for index, word in enumerate(rest) if _full(word) == "type"), len(rest))
        if at + 1 >= len(rest):
            raise ValueError("a new link needs a type")
        kind, options = rest[at + 1], rest[at + 2 :]
        own = _options(rest[:at])
        name, home = own.get("name") or own.get("dev", ""), self._home(own, space)
        if kind == "veth":
            self._veth(name, home, space, own, options, where)
            return
        if kind in ("bridge", "ifb"):
            self.network.add(Device(home, name, kind, where))
            return
        if kind not in layered.KINDS:
            self.network.add(Device(home, name, "refused", where))  # so that its addresses are not refused, too
            raise ValueError(f"a link of type {kind[:40]} has no counterpart: {LINKS.get(kind, 'use veth or bridge')}")
        device = Device(home, name or f"{kind}0", "macvlan" if kind == "ipvlan" else kind, where)
        self.network.add(device)
        if "link" in own:
            device.below = self.found(space, own["link"], where)
        if "mtu" in own:
            device.mtu = quantities.count(own["mtu"]), where
        try:
            layered.configure(device, options, lambda message: self.network.leave(where, message))
        except ValueError:
            device.kind = "refused"
            raise

    def _home(self, options: dict[str, str], space: str) -> str:
        return self.network.inside(space, options["netns"]) if "netns" in options else space

    def _veth(self, name: str, home: str, space: str, own: dict[str, str], options: list[str], where: Where) -> None:
        peer = _options(options[1:] if options[:1] == ["peer"] else [])
        other = peer.get("name") or peer.get("dev") or f"{name}-peer"
        far = self._home(peer, space)
        if (home, name) == (far, other):
            raise ValueError(f"both ends of this link are {name[:40]}; give them different names")
        ends = Device(home, name, "veth", where), Device(far, other, "veth", where)
        for end, given in zip(ends, (own, peer), strict=True):
            end.mtu = (quantities.count(given["mtu"]), where) if "mtu" in given else None
        self.network.join(ends)

    def _set(self, rest: list[str], where: Where, space: str) -> None:
        at = next((index for index, word in enumerate(rest) if _full(word) == "type"), len(rest))
        words, options = rest[:at], rest[at + 2 :]
        if words[:1] == ["group"]:
            raise ValueError("a group of devices has no counterpart; name each device")
        given = _options(words)
        name = given.pop("dev", "")
        if not name:
            raise IndexError
        if name == "lo":
            return
        device = self.found(space, name, where)
        if rest[at + 1 : at + 2] == [device.kind]:
            layered.configure(device, options, lambda message: self.network.leave(where, message))
        for option, value in given.items():
            if option in ("up", "down"):
                self._up_or_down(device, option, where)
            elif option == "nomaster":
                device.master = None
            elif option == "mtu":
                device.mtu = quantities.count(value), where
            elif option == "netns":
                inner = self.network.inside(space, value)
                self.network.space(inner, where)
                self.network.move(device, inner, device.name)
            elif option == "name":
                self.network.move(device, device.space, value)
            elif option in ("master", "vrf"):
                self.enslave(device, value, where)
            elif option in ("txqueuelen", "qlen", "txqlen"):
                self.network.leave(where, "txqueuelen: the lab's queues have their own limit")
            elif option not in _QUIET:
                self.network.leave(where, f"ip link set {option[:40]} has no counterpart")

    def _up_or_down(self, device: Device, option: str, where: Where) -> None:
        if self.clock.now and option == "down":
            device.downs.append((self.clock.now, None, where))
        elif self.clock.now and device.downs and device.downs[-1][1] is None:
            device.downs[-1] = (device.downs[-1][0], self.clock.now, device.downs[-1][2])

    def enslave(self, device: Device, name: str, where: Where) -> None:
        """Put a device into a bridge, a bond or a VRF. Raises ValueError for another device."""
        master = self.network.device(device.space, name)
        if master is None:
            master = self.bridge(device.space, name, where)
        if master.kind == "refused":
            return  # it has a message
        if master.kind not in ("bridge", "bond", "vrf") or master is device:
            raise ValueError(f"{name[:40]} is no bridge, bond or VRF")
        device.master = master

    def bridge(self, space: str, name: str, where: Where) -> Device:
        """Return the bridge with this name, and create it if it is missing. Raises ValueError for another device."""
        bridge = self.network.device(space, name)
        if bridge is None:
            bridge = Device(space, name, "bridge", where)
            self.network.add(bridge)
        if bridge.kind != "bridge":
            raise ValueError(f"{name} is no bridge")
        return bridge

    def found(self, space: str, name: str, where: Where) -> Device:
        """Return the device. An unknown name is a device that the file uses but does not create."""
        name = name.split("@")[0]
        device = self.network.device(space, name)
        if device is None:
            device = Device(space, name, "refused" if name == "lo" else "given", where)
            self.network.add(device)
        return device

    def brctl(self, words: list[str], where: Where, space: str) -> None:
        """Apply `brctl addbr` and `brctl addif` to the network."""
        if words[0] == "addbr":
            self.bridge(space, words[1], where)
        elif words[0] == "addif":
            bridge = self.bridge(space, words[1], where)
            for name in words[2:]:
                self.found(space, name, where).master = bridge

    def ovs_vsctl(self, words: list[str], where: Where, space: str) -> None:
        """Apply `ovs-vsctl add-br` and `add-port` to the network. Raises ValueError for a VLAN or a tunnel."""
        for command in " ".join(each for each in words if not each.startswith("--m")).split(" -- "):
            given = [each for each in command.split() if not each.startswith("-")]
            if given[:1] == ["add-br"]:
                self.bridge(space, given[1], where)
            elif given[:1] == ["add-port"]:
                self.found(space, given[2], where).master = self.bridge(space, given[1], where)
                if any(each.startswith("tag=") for each in given):
                    raise ValueError("a VLAN of a port has no counterpart; give each VLAN its own switch")
            elif given[:1] == ["set"] and any("type=" in each for each in given):
                raise ValueError("an interface of this type has no counterpart; use a link")

    def vconfig(self, words: list[str], where: Where, space: str) -> None:
        """Apply `vconfig add DEVICE ID` to the network."""
        if words[0] == "add":
            self._add(
                ["link", words[1], "name", f"{words[1]}.{words[2]}", "type", "vlan", "id", words[2]], where, space
            )

    def ifenslave(self, words: list[str], where: Where, space: str) -> None:
        """Apply `ifenslave BOND DEVICE...` to the network."""
        names = [each for each in words if not each.startswith("-")]
        for name in names[1:]:
            self.enslave(self.found(space, name, where), names[0], where)

    def bond_file(self, bond: str, option: str, value: str, where: Where, space: str) -> None:
        """Apply a value that a script writes to a file of a bond under /sys/class/net."""
        device = self.found(space, bond, where)
        if option == "slaves":
            for name in value.split():
                if name.startswith("+"):
                    self.enslave(self.found(space, name[1:], where), bond, where)
        elif device.kind == "bond":
            layered.configure(device, [option, value.split()[0]], lambda message: self.network.leave(where, message))

    def fdb(self, words: list[str], _: Where, space: str) -> None:
        """Apply `bridge fdb append MAC dev VXLAN dst ADDRESS` to the network.

        Raises ValueError for commands about the VLANs of a switch.
        """
        if words[:1] and "vlan".startswith(words[0]) and words[1:2] and not "show".startswith(words[1]):
            raise ValueError("the lab's switches forward the frames of all VLANs; give each VLAN its own switch")
        if words[:1] == ["fdb"] and "dst" in words[:-1] and "dev" in words[:-1]:
            device = self.network.device(space, words[words.index("dev") + 1])
            if device is not None and device.kind == "vxlan":
                device.outer.setdefault("remotes", "")
                device.outer["remotes"] += f" {words[words.index('dst') + 1]}"


def _full(word: str) -> str:
    """Return the word of `ip link` that this one begins."""
    if word == "l" or len(word) > 1:
        return next((each for each in _BEGINNINGS if each.startswith(word)), word)
    return word


def _options(words: list[str]) -> dict[str, str]:
    """Return the options of `ip link` with their values. The device has the name `dev`."""
    found: dict[str, str] = {}
    left = list(reversed(words))
    while left:
        word = _full(left.pop())
        if word in _WITH_VALUE and left:
            found[word] = left.pop()
        elif word in ("up", "down", "nomaster"):
            found[word] = ""
        elif "dev" not in found:
            found["dev"] = word
        else:
            raise ValueError(f"ip link has no option '{word[:40]}'")
    return found
