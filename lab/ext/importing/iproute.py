"""Read `ip` and the older commands like it, and keep the devices, addresses and routes that they would create."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lab.ext.importing import quantities
from lab.ext.importing.found import Device, FoundNetwork, FoundRoute
from lab.ext.importing.where import Where

LINKS: Mapping[str, str] = {
    "vlan": "declare a link with vlan and over",
    "bond": "declare a link with bond: [one, two]",
    "team": "a link here is one cable; give it the rate of all",
    "vxlan": "declare a link with tunnel: vxlan",
    "gre": "declare a link with tunnel: gre",
    "gretap": "join both ends with a link that has the smaller MTU",
    "ipip": "declare a link with tunnel: ipip",
    "sit": "join both ends with a link that has an MTU of 1480 B",
    "wireguard": "join both ends with a link that has an MTU of 1420 B",
    "vrf": "declare vrfs of the router",
    "macvlan": "connect the host to a switch",
    "ipvlan": "connect the host to a switch",
    "tun": "join both ends with a link",
    "tap": "join both ends with a link",
    "dummy": "the lab has no interface without a link; add a host",
}
_OBJECTS: tuple[str, ...] = (
    "link",
    "address",
    "route",
    "rule",
    "neighbour",
    "neighbor",
    "netns",
    "tunnel",
    "tuntap",
    "xfrm",
    "mroute",
    "maddress",
    "monitor",
    "netconf",
    "mptcp",
    "tcp_metrics",
    "addrlabel",
    "vrf",
    "sr",
    "nexthop",
)


_METRICS = ("initcwnd", "initrwnd", "advmss", "mtu")  # of a route, with the names of a topology


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
class Interfaces:
    """Applies the commands that create devices, and assign addresses and routes. `follow` applies an inner command."""

    network: FoundNetwork
    clock: ScriptTime
    follow: Callable[[list[str], Where, str], None]

    def ip(self, words: list[str], where: Where, space: str) -> None:
        """Apply an `ip` command to the network. Raises ValueError if the command has no counterpart."""
        version = 0
        while words and words[0].startswith("-"):
            option, words = words[0], words[1:]
            if option in ("-n", "-net", "-netns"):
                space, words = words[0], words[1:]
            elif option in ("-b", "-batch"):
                raise ValueError("the lab reads no batch file; put its commands into this file")
            version = {"-4": 4, "-6": 6}.get(option, version)
        thing = next((each for each in _OBJECTS if each.startswith(words[0])), None) if words else None
        verb = words[1] if len(words) > 1 else "show"
        rest = words[2:]
        if thing is None:
            raise ValueError(f"'{' '.join(words)[:40]}' is not a command of ip")
        if thing == "netns":
            self._netns(verb, rest, where)
        elif "show".startswith(verb) or verb in ("list", "lst", "get", "save", "monitor"):
            return
        elif thing == "link":
            self._link(verb, rest, where, space)
        elif thing == "address":
            self._address(verb, rest, where, space)
        elif thing == "route":
            self._route_of(verb, rest, where, space, version)
        elif thing == "tunnel":
            raise ValueError(f"a tunnel has no counterpart: {LINKS['gre']}")
        elif thing in ("neighbour", "neighbor"):
            return  # the lab knows every neighbour's address
        else:
            raise ValueError(f"ip {thing} has no counterpart")

    def _netns(self, verb: str, rest: list[str], where: Where) -> None:
        if verb == "add":
            self.network.space(rest[0], where)
        elif verb in ("exec", "e"):
            self.follow(rest[1:], where, rest[0])
        elif verb in ("del", "delete") and self.clock.is_setting_up:
            self.network.spaces.pop(rest[0], None)

    def _link(self, verb: str, rest: list[str], where: Where, space: str) -> None:
        if verb in ("add", "a"):
            self._new_link(rest, where, space)
        elif verb in ("set", "s"):
            self._set_link(rest, where, space)
        elif verb in ("del", "delete", "d"):
            words = [each for each in rest if each not in ("dev", "link")]
            device = self.network.device(space, words[0])
            if device and self.clock.is_setting_up:
                self.network.remove(device)
        elif verb not in ("property", "afstats"):
            raise ValueError(f"ip link {verb} has no counterpart")

    def _new_link(self, rest: list[str], where: Where, space: str) -> None:
        own, _, after = _around(rest, "type")
        kind, options = after[0], after[1:]
        first = _options(own, "name", ("mtu", "netns", "address", "txqueuelen", "numtxqueues", "numrxqueues", "link"))
        name, home = first.get("name", ""), first.get("netns", space)
        if kind == "veth":
            peer = _options(options, "peer", ("name", "mtu", "netns", "address", "txqueuelen"))
            other = peer.get("name") or peer.get("peer") or f"{name}-peer"
            ends = Device(home, name, "veth", where), Device(peer.get("netns", space), other, "veth", where)
            for end, given in zip(ends, (first, peer), strict=True):
                end.mtu = (_mtu(given["mtu"]), where) if "mtu" in given else None
            self.network.join(ends)
        elif kind in ("bridge", "ifb"):
            self.network.add(Device(home, name, kind, where))
        else:
            self.network.add(Device(home, name, "refused", where))  # so that its addresses are not refused, too
            raise ValueError(f"a link of type {kind} has no counterpart: {LINKS.get(kind, 'use veth or bridge')}")

    def _set_link(self, rest: list[str], where: Where, space: str) -> None:
        words = rest[1:] if rest[:1] in (["dev"], ["group"]) else rest
        name, words = words[0], words[1:]
        if name == "lo":
            return
        device = self.found(space, name, where)
        while words:
            option, words = words[0], words[1:]
            if option in ("up", "down"):
                self._up_or_down(device, option, where)
            elif option in ("nomaster", "multicast", "arp", "promisc", "allmulticast", "trailers", "type"):
                words = [] if option == "type" else words[option != "nomaster" :]
                device.master = None if option == "nomaster" else device.master
            elif option == "mtu":
                device.mtu, words = (_mtu(words[0]), where), words[1:]
            elif option == "netns":
                self.network.space(words[0], where)
                self.network.move(device, words[0], device.name)
                words = words[1:]
            elif option in ("name", "master"):
                value, words = words[0], words[1:]
                if option == "name":
                    self.network.move(device, device.space, value)
                else:
                    device.master = self.bridge(device.space, value, where)
            elif option in ("address", "alias", "txqueuelen", "qlen", "group", "addrgenmode"):
                words = words[1:]
                if option in ("txqueuelen", "qlen"):
                    self.network.leave(where, "txqueuelen: the lab's queues have their own limit")
            elif option != "dev":
                self.network.leave(where, f"ip link set {option} has no counterpart")
                return

    def _up_or_down(self, device: Device, option: str, where: Where) -> None:
        if self.clock.now and option == "down":
            device.downs.append((self.clock.now, None, where))
        elif self.clock.now and device.downs and device.downs[-1][1] is None:
            device.downs[-1] = (device.downs[-1][0], self.clock.now, device.downs[-1][2])

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
            device = Device(space, name, "given", where)
            self.network.add(device)
        return device

    def _address(self, verb: str, rest: list[str], where: Where, space: str) -> None:
        if verb in ("flush", "f"):
            device = self.network.device(space, rest[-1])
            if device:
                device.addresses.clear()
            return
        text, name = "", ""
        words = list(rest)
        while words:
            word = words.pop(0)
            if word == "dev":
                name = words.pop(0)
            elif word in (
                "broadcast",
                "brd",
                "scope",
                "label",
                "peer",
                "metric",
                "valid_lft",
                "preferred_lft",
                "proto",
            ):
                words.pop(0)
            elif word == "local" or word in ("nodad", "noprefixroute", "home"):
                continue
            elif not text:
                text = word
        address = str(ipaddress.ip_interface(text))
        if name == "lo":
            if not ipaddress.ip_interface(text).is_loopback:
                raise ValueError(f"{text} on lo: the lab has no interface without a link; add a host to carry it")
            return
        device = self.found(space, name, where)
        if verb in ("del", "delete", "d"):
            device.addresses.pop(address, None)
        else:
            device.addresses.setdefault(address, where)

    def _route_of(self, verb: str, rest: list[str], where: Where, space: str, version: int) -> None:
        if verb in ("del", "delete", "d", "flush", "f"):
            return  # of a route that another tool has made
        words = [each for each in rest if each not in ("unicast", "to")]
        if words[0] in ("blackhole", "unreachable", "prohibit", "local", "throw", "multicast", "broadcast", "nat"):
            raise ValueError(f"a route of type {words[0]} has no counterpart; use a firewall as a middlebox")
        words, hops = _next_hops(words)
        names = ("via", "dev", "metric", "table", "src", "proto", "scope", *_METRICS)
        given = _options(words, "destination", names)
        metrics = {name: quantities.count(given[name]) for name in ("metric", *_METRICS) if name in given}
        for option in ("rto_min", "congctl", "quickack", "window", "features"):
            if option in words:
                self.network.leave(where, f"{option} of a route: a topology's routes do not have this option")
        if given.get("table", "main") not in ("main", "254"):
            raise ValueError(f"a route in table {given['table']}: the lab has one table")
        via = given.get("via") or next(iter(hops), None)
        if via in ("inet", "inet6"):
            via = words[words.index(via) + 1]
        version = version or (ipaddress.ip_address(via).version if via else 4)
        text = given.get("destination", "")
        text = {4: "0.0.0.0/0", 6: "::/0"}[version] if text in ("default", "any", "") else text
        destination = ipaddress.ip_network(text, strict=False)
        if via and ipaddress.ip_address(via).version == destination.version:
            self.network.space(space, where).routes.append(FoundRoute(str(destination), via, where, hops, metrics))

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
                    raise ValueError(f"a VLAN of a port has no counterpart: {LINKS['vlan']}")
            elif given[:1] == ["set"] and any("type=" in each for each in given):
                raise ValueError("an interface of this type has no counterpart; use a link")

    def ifconfig(self, words: list[str], where: Where, space: str) -> None:
        """Apply `ifconfig DEVICE ...` to the network."""
        device, rest = words[0], words[1:]
        given = _options(rest, "address", ("netmask", "broadcast", "mtu", "hw", "ether", "txqueuelen"))
        if "mtu" in given:
            self.found(space, device, where).mtu = (_mtu(given["mtu"]), where)
        text = given.get("address", "up")
        if text not in ("up", "down", "inet", "inet6", "promisc", "-arp"):
            text = f"{text}/{given['netmask']}" if "netmask" in given else text
            text = text if "/" in text else f"{text}/{'8' if text.startswith('10.') else '24'}"
            self.found(space, device, where).addresses.clear()
            self._address("add", [str(ipaddress.ip_interface(text)), "dev", device], where, space)

    def route(self, words: list[str], where: Where, space: str) -> None:
        """Apply `route add` to the network."""
        if words[:1] != ["add"]:
            return
        words = [each for each in words[1:] if each not in ("-net", "-host", "gateway")]
        given = _options(words, "destination", ("gw", "netmask", "dev", "metric"))
        text = given["destination"] + (f"/{given['netmask']}" if "netmask" in given else "")
        via = ["via", given["gw"]] if "gw" in given else []
        self._route_of("add", [text, *via], where, space, 0)


def _next_hops(words: list[str]) -> tuple[list[str], dict[str, int]]:
    """Return the words before the next hops of a route, and the next hops with their weights, if there are several."""
    if words.count("nexthop") < 2:
        return [each for each in words if each != "nexthop"], {}
    parts = " ".join(words).split("nexthop")
    given = [_options(part.split(), "destination", ("via", "dev", "weight")) for part in parts[1:]]
    if any("via" not in each for each in given):
        raise ValueError("one of several next hops needs an address; give it a via")
    return parts[0].split(), {each["via"]: quantities.count(each.get("weight", "1")) for each in given}


def _around(words: list[str], middle: str) -> tuple[list[str], str, list[str]]:
    if middle not in words or words[-1] == middle:
        raise ValueError("a new link needs a type")
    at = words.index(middle)
    return words[:at], middle, words[at + 1 :]


def _options(words: list[str], first: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return options with their values by name. The first word that is not part of an option has the name `first`."""
    found: dict[str, str] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if word in names or (word == first and first != "peer"):
            if left:
                found[word] = left.pop(0)
        elif word not in ("dev", "peer"):
            found.setdefault(first, word)
    return found


def _mtu(text: str) -> int:
    return quantities.count(text)
