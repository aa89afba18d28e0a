"""Read `ip` and the older commands like it, and keep the addresses and routes that they would create."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field

from lab.ext.importing import layered, quantities
from lab.ext.importing.found import Device, FoundHop, FoundNetwork, FoundRoute
from lab.ext.importing.iplink import LINKS, LinkCommands, ScriptTime
from lab.ext.importing.where import Where
from lab.guest.network import LAST

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
_INSTEAD = {
    "rule": "declare vrfs, whose interfaces have their own routes",
    "xfrm": "the lab's tunnels carry packets without encryption",
    "mptcp": "see `lab list` for the claims about MPTCP",
    "tuntap": "join both ends with a link",
    "nexthop": "name the next hops in the route",
}
_METRICS = ("initcwnd", "initrwnd", "advmss", "mtu")  # of a route, with the names of a topology
_UNTAKEN = (
    *("rto_min", "congctl", "quickack", "window", "features", "hoplimit", "rtt", "rttvar", "ssthresh", "cwnd"),
    *("encap", "realms", "nhid", "fastopen_no_cookie", "reordering"),
)
_IGNORED = ("src", "proto", "protocol", "scope", "pref", "tos", "dsfield", "expires", "error")
_TYPES = ("blackhole", "unreachable", "prohibit", "local", "throw", "broadcast", "nat", "anycast")
_METRIC = {"metric", "priority", "preference"}


@dataclass
class Interfaces:
    """Applies the commands that assign addresses and routes. `follow` applies an inner command."""

    network: FoundNetwork
    clock: ScriptTime
    follow: Callable[[list[str], Where, str], None]
    links: LinkCommands = field(init=False)

    def __post_init__(self) -> None:
        self.links = LinkCommands(self.network, self.clock)

    def ip(self, words: list[str], where: Where, space: str) -> None:
        """Apply an `ip` command to the network. Raises ValueError if the command has no counterpart."""
        version = 0
        while words and words[0].startswith("-"):
            option, words = words[0], words[1:]
            if option in ("-n", "-net", "-netns"):
                space, words = self.network.inside(space, words[0]), words[1:]
            elif option in ("-b", "-batch"):
                raise ValueError("the lab reads no batch file; put its commands into this file")
            elif option in ("-f", "-family"):
                option, words = {"inet6": "-6"}.get(words[0], "-4"), words[1:]
            version = {"-4": 4, "-6": 6}.get(option, version)
        thing = next((each for each in _OBJECTS if each.startswith(words[0])), None) if words else None
        verb = words[1] if len(words) > 1 else "show"
        rest = words[2:]
        if thing is None:
            raise ValueError(f"'{' '.join(words)[:40]}' is not a command of ip")
        if thing == "netns":
            self._netns(verb, rest, where, space)
        elif thing == "link" and verb == "s":
            self.links.link("set", rest, where, space)
        elif thing == "vrf" and verb == "exec":
            self.follow(rest[1:], where, space)
        elif "show".startswith(verb) or verb in ("list", "lst", "get", "save", "monitor", "identify", "pids", "help"):
            return
        elif thing == "link":
            self.links.link(verb, rest, where, space)
        elif thing == "address":
            self._address(verb, rest, where, space)
        elif thing == "route":
            self._route_of(verb, rest, where, space, version)
        elif thing == "tunnel":
            self._tunnel(verb, rest, where, space)
        elif thing in ("neighbour", "neighbor", "addrlabel", "netconf", "tcp_metrics", "maddress"):
            return  # the lab knows every neighbour's address
        else:
            raise ValueError(f"ip {thing} has no counterpart" + (f": {_INSTEAD[thing]}" if thing in _INSTEAD else ""))

    def _netns(self, verb: str, rest: list[str], where: Where, space: str) -> None:
        inner = self.network.inside(space, rest[0]) if rest else ""
        if verb in ("add", "a") and rest:
            self.network.space(inner, where)
        elif verb in ("exec", "e"):
            self.follow(rest[1:], where, inner)
        elif verb in ("del", "delete") and self.clock.is_setting_up:
            self.network.spaces.pop(inner, None)

    def _tunnel(self, verb: str, rest: list[str], where: Where, space: str) -> None:
        """Apply `ip tunnel add NAME mode MODE ...`, the older form of `ip link add NAME type TYPE ...`."""
        if not "add".startswith(verb):
            return
        mode = rest[rest.index("mode") + 1] if "mode" in rest[:-1] else "gre"
        words = [each for at, each in enumerate(rest) if each not in ("mode", "name") and rest[at - 1 : at] != ["mode"]]
        kind = layered.MODES.get(mode, mode)
        if kind not in layered.TUNNELS:
            self.network.add(Device(space, words[0], "refused", where))
            raise ValueError(f"a tunnel of the mode {mode[:40]} has no counterpart: {LINKS.get(kind, LINKS['sit'])}")
        self.links.link("add", [words[0], "type", kind, *words[1:]], where, space)

    def _address(self, verb: str, rest: list[str], where: Where, space: str) -> None:
        if verb in ("flush", "f"):
            device = self.network.device(space, rest[-1])
            if device:
                device.addresses.clear()
            return
        text, name, peer = "", "", ""
        words = list(rest)
        while words:
            word = words.pop(0)
            if word == "dev":
                name = words.pop(0)
            elif word in ("peer", "remote"):
                peer = words.pop(0)
            elif word in ("broadcast", "brd", "scope", "label", "metric", "valid_lft", "preferred_lft", "proto"):
                words.pop(0)
            elif word == "local" or word in ("nodad", "noprefixroute", "home", "mngtmpaddr", "optimistic", "autojoin"):
                continue
            elif not text:
                text = word
        address = str(ipaddress.ip_interface(text))
        if peer:
            address = between(address, peer) or address
        device = self.links.found(space, name, where)
        if verb in ("del", "delete", "d"):
            device.addresses.pop(address, None)
        else:
            device.addresses.setdefault(address, where)
        if name == "lo" and not ipaddress.ip_interface(text).is_loopback:
            raise ValueError(f"{text} on lo: the lab has no interface without a link; add a host to carry it")

    def _route_of(self, verb: str, rest: list[str], where: Where, space: str, version: int) -> None:
        if verb in ("del", "delete", "d", "flush", "f"):
            return  # of a route that another tool has made
        given, plain, hops = _route_words(rest)
        kind = plain[0] if plain and plain[0] in (*_TYPES, "unicast", "multicast") else ""
        text = next(iter(plain[bool(kind) :]), "")
        metrics = {name: quantities.count(given[name]) for name in ("metric", *_METRICS) if name in given}
        if kind in _TYPES:
            if kind == "unreachable" and metrics.get("metric") == LAST:
                return  # each VRF of the lab has this route
            raise ValueError(f"a route of type {kind} has no counterpart; use a firewall as a middlebox")
        for option in _UNTAKEN:
            if option in given:
                self.network.leave(where, f"{option} of a route: a topology's routes do not have this option")
        if any(hop.via is None and not hop.device for hop in hops):
            raise ValueError("a route needs a next hop; give it a via or a dev")
        self._table(given, space)
        via = next((hop.via for hop in hops if hop.via), None)
        version = version or (ipaddress.ip_address(via).version if via else 6 if ":" in text else 4)
        if text in ("default", "any", "all", ""):
            text = {4: "0.0.0.0/0", 6: "::/0"}[version]
        destination = ipaddress.ip_network(text, strict=False)
        if destination.is_multicast:
            self.network.group_routes.append((where, str(destination)))  # the lab adds these routes to members
            return
        if any(hop.via and ipaddress.ip_address(hop.via).version != destination.version for hop in hops):
            raise ValueError(
                f"a next hop of {destination} with a different IP version; give it one of the same version"
            )
        self.network.space(space, where).routes.append(FoundRoute(str(destination), hops, where, metrics))

    def _table(self, given: dict[str, str], space: str) -> None:
        """Check that a route is in the main table, or in a VRF's. The next hop decides which one it is."""
        table, vrf = given.get("table", "main"), given.get("vrf", "")
        vrfs = [each for each in self.network.kind("vrf") if each.space == space]
        if vrf and all(each.name != vrf for each in vrfs):
            raise ValueError(f"a route of the VRF {vrf[:40]}: this file has no such VRF")
        if table not in ("main", "254") and all(table not in (str(each.number), each.name) for each in vrfs):
            raise ValueError(
                f"a route in table {table[:40]}: a topology has the main table, and one for each of its vrfs"
            )

    def ifconfig(self, words: list[str], where: Where, space: str) -> None:
        """Apply `ifconfig DEVICE ...` to the network."""
        device, rest = words[0], words[1:]
        given = _options(rest, "address", ("netmask", "broadcast", "mtu", "hw", "ether", "txqueuelen"))
        if "mtu" in given:
            self.links.found(space, device, where).mtu = (quantities.count(given["mtu"]), where)
        text = given.get("address", "up")
        if text not in ("up", "down", "inet", "inet6", "promisc", "-arp"):
            text = f"{text}/{given['netmask']}" if "netmask" in given else text
            text = text if "/" in text else f"{text}/{'8' if text.startswith('10.') else '24'}"
            self.links.found(space, device, where).addresses.clear()
            self._address("add", [str(ipaddress.ip_interface(text)), "dev", device], where, space)

    def route(self, words: list[str], where: Where, space: str) -> None:
        """Apply `route add` to the network."""
        if words[:1] != ["add"]:
            return
        words = [each for each in words[1:] if each not in ("-net", "-host", "gateway")]
        given = _options(words, "destination", ("gw", "netmask", "dev", "metric"))
        text = given["destination"] + (f"/{given['netmask']}" if "netmask" in given else "")
        hop = [*(("via", given["gw"]) if "gw" in given else ()), *(("dev", given["dev"]) if "dev" in given else ())]
        self._route_of("add", [text, *hop], where, space, 0)


def between(address: str, peer: str) -> str | None:
    """Return an address with the smallest prefix that also holds its peer's, as on a link between the two.

    Return None if the two are not neighbours in a prefix of IPv4's /24 or IPv6's /64.
    """
    own, other = ipaddress.ip_interface(address).ip, ipaddress.ip_interface(peer).ip
    if own.version != other.version or own == other:
        return None
    for length in range(own.max_prefixlen - 1, 23 if own.version == 4 else 63, -1):
        network = ipaddress.ip_interface(f"{own}/{length}").network
        edges = (network[0], network[-1]) if length < own.max_prefixlen - 1 and own.version == 4 else ()
        if other in network and own not in edges and other not in edges:
            return f"{own}/{length}"
    return None


def _route_words(words: list[str]) -> tuple[dict[str, str], list[str], tuple[FoundHop, ...]]:
    """Return a route's options, its type and destination, and its next hops."""
    first, *others = _split(words, "nexthop")
    given, plain = _route_options(first)
    hops = [_route_options(each)[0] for each in others]
    if not hops or "via" in given:
        hops.insert(0, given)
    found = tuple(
        FoundHop(each.get("via"), each.get("dev", ""), quantities.count(each.get("weight", "1"))) for each in hops
    )
    return given, plain, found


def _split(words: list[str], at: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == at:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _route_options(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the options of a route or of a next hop, and the words that belong to none."""
    given: dict[str, str] = {}
    plain: list[str] = []
    left = list(reversed(words))
    while left:
        word = left.pop()
        if word in _METRIC:
            word = "metric"
        if word in ("via", "dev", "metric", "table", "vrf", "weight", *_METRICS, *_UNTAKEN, *_IGNORED):
            value = left.pop() if left else ""
            if (word == "via" and value in ("inet", "inet6")) or value == "lock":
                value = left.pop() if left else ""
            if word in ("via", "dev") and not value:
                raise ValueError(f"{word} of a route has no value")
            given["dev" if word == "oif" else word] = value
        elif word not in ("to", "onlink", "pervasive"):
            plain.append(word)
    return given, plain


def _options(words: list[str], first: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return options with their values by name. The first word that is not part of an option has the name `first`."""
    found: dict[str, str] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if word in names or word == first:
            if left:
                found[word] = left.pop(0)
        elif word != "dev":
            found.setdefault(first, word)
    return found
