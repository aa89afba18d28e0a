"""Fit a draft to the rules for topologies: each part that `lab check` refuses is removed, and becomes a problem."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.errors import InputError
from lab.ext.importing.draft import STANDARD_MTU, Draft
from lab.ext.importing.found import FoundNetwork
from lab.spec import topology as topologies
from lab.spec.document import Document, Place
from lab.spec.errors import Problem, SpecError
from lab.spec.topology import Topology

_ROUNDS = 200
_CARRIED = ("bond", "vlan", "over", "tunnel", "id")  # keys of links that other links carry
_MTU_IPV6 = 1280


def fit(made: Draft, network: FoundNetwork, path: Path) -> Topology:
    """Return the topology of a draft, for the file `path`.

    The function changes the draft until the check passes. Raises InputError if the rest of the draft is not a topology.
    """
    _one_mtu_a_switch(made, network)
    for _ in range(_ROUNDS):
        for kind in ("routers", "switches"):
            if not made.data.get(kind, True):
                del made.data[kind]
        _apart(made, network)
        places = list(_places(made.data, ()))
        lines = {place: number for number, place in enumerate(places, 2)}
        try:
            return topologies.checked(Document(path, made.data, lines))
        except SpecError as error:
            refused = {_place(problem, places): _message(problem) for problem in error.problems}
        for place in sorted(refused, key=lambda each: [str(step).zfill(6) for step in each], reverse=True):
            _remove(made, network, place, refused[place])
    raise InputError(f"{path.name}: too many parts of this network have no counterpart")


def _place(problem: Problem, places: list[Place]) -> Place:
    return places[problem.line - 2] if problem.line >= 2 else ()


def _message(problem: Problem) -> str:
    return re.sub(r"^(?:links|hosts|routers|switches|sysctls)[^:\s]*: ", "", problem.message)


def _places(data: Any, place: Place) -> Iterator[Place]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*place, key)
        yield from _places(value, (*place, key))


def _has(data: Any, place: Place) -> bool:
    for step in place:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _remove(made: Draft, network: FoundNetwork, place: Place, message: str) -> None:
    """Remove the part at `place`, or the part that makes it wrong, and note the message at its source."""
    if place[:1] == ("links",) and (len(place) == 2 or place[2:3] == ("ends",)) and len(place) < 5:
        place = place[:2]  # a link needs its ends
    if place[:1] == ("links",) and place[2:3] and place[2] in _CARRIED:
        place = place[:2]  # without this key, it would be a different link
    if place[2:3] == ("routes",):
        place = place[:4]
    if len(place) < 2 or not _has(made.data, place):
        raise InputError(f"{network.untaken[0].file if network.untaken else network.about}: {message}")
    source = made.source(place)
    if source is not None:
        network.leave(source, f"{place[1]}: {message}")
    parent: Any = made.data
    for step in place[:-1]:
        parent = parent[step]
    del parent[place[-1]]
    if not parent and len(place) > 2:
        _remove_empty(made.data, place[:-1])


def _remove_empty(data: Any, place: Place) -> None:
    """Remove a part that is empty now. The ends of links stay."""
    if place[2:3] == ("ends",) and len(place) < 5:
        return
    parent: Any = data
    for step in place[:-1]:
        parent = parent[step]
    del parent[place[-1]]


def _apart(made: Draft, network: FoundNetwork) -> None:
    """Give each subnet its own prefix: the file's prefix, or a free one if an earlier subnet has the file's prefix."""
    groups = subnets(made.data)
    for version in (4, 6):
        taken: dict[Any, str] = {}  # prefix -> the first link that has it
        without: list[tuple[int, str]] = []
        for number, group in enumerate(groups, 1):
            if version == 6 and not _carries_ipv6(made.data, group):
                continue
            prefixes = dict.fromkeys(each.network for each in _addresses(made.data, group, version))
            other = next((each for each in taken for prefix in prefixes if each.overlaps(prefix)), None)
            if other is not None:
                _leave_addresses(made, network, group, version, f"{other} is the prefix of link '{taken[other]}'")
            if other is not None or not prefixes:
                without.append((number, group[0]))
            else:
                taken |= dict.fromkeys(prefixes, group[0])
        free = (each for each in _prefixes(version) if not any(each.overlaps(other) for other in taken))
        for number, link in without:
            automatic = f"10.{number >> 8}.{number & 255}.0/24" if version == 4 else f"fd00:{number}::/64"
            if any(ipaddress.ip_network(automatic).overlaps(other) for other in taken):
                ends = made.data["links"][link]["ends"]
                node = next((name for name in ends if name not in made.data.get("switches", {})), None)
                if node is not None:
                    prefix = next(free)
                    ends[node].setdefault("addresses", []).append(f"{prefix[1]}/{prefix.prefixlen}")


def _addresses(data: dict[str, Any], group: list[str], version: int) -> Iterator[Any]:
    for name in group:
        for end in data["links"][name]["ends"].values():
            yield from (
                each for each in map(ipaddress.ip_interface, end.get("addresses", ())) if each.version == version
            )


def _carries_ipv6(data: dict[str, Any], group: list[str]) -> bool:
    """Return whether IPv6 can cross all links of a subnet."""
    links = [data["links"][name] for name in group]
    sizes = [int(part["mtu"].split()[0]) for link in links for part in _ways(link) if "mtu" in part]
    return min(sizes, default=STANDARD_MTU) >= _MTU_IPV6 and all(link.get("tunnel") != "ipip" for link in links)


def _leave_addresses(made: Draft, network: FoundNetwork, group: list[str], version: int, why: str) -> None:
    for name in group:
        for node, end in made.data["links"][name]["ends"].items():
            for index, address in reversed([*enumerate(end.get("addresses", ()))]):
                if ipaddress.ip_interface(address).version == version:
                    source = made.source(("links", name, "ends", node, "addresses", index))
                    if source is not None:
                        network.leave(source, f"{address}: {why}; the lab chooses an address")
                    del end["addresses"][index]
            if not end.get("addresses", True):
                del end["addresses"]


def _prefixes(version: int) -> Iterator[Any]:
    pool = ipaddress.ip_network("10.128.0.0/9" if version == 4 else "fd00:ffff::/32")
    yield from pool.subnets(new_prefix=24 if version == 4 else 64)


def subnets(data: dict[str, Any]) -> list[list[str]]:
    """Return the links of each subnet, in the order of their first links. The wires of bonds are in no subnet."""
    at: dict[str, list[str]] = {}  # switch -> its group
    groups: list[list[str]] = []
    bonded = {wire for link in data["links"].values() for wire in link.get("bond", ())}
    for name, link in data["links"].items():
        if name in bonded:
            continue
        switches = [node for node in link["ends"] if node in data.get("switches", {})]
        joined = list({id(at[node]): at[node] for node in switches if node in at}.values())
        group = joined[0] if joined else []
        for other in joined[1:]:
            group += other
            other.clear()
        if not joined:
            groups.append(group)
        group.append(name)
        at |= dict.fromkeys(switches, group)
        for node, one in at.items():
            if any(one is other for other in joined[1:]):
                at[node] = group
    order = {name: number for number, name in enumerate(data["links"])}
    return sorted((sorted(group, key=order.__getitem__) for group in groups if group), key=lambda each: order[each[0]])


def _one_mtu_a_switch(made: Draft, network: FoundNetwork) -> None:
    """Give all links of a switch the smallest MTU among them, as a Linux bridge does."""
    for group in subnets(made.data):
        name = group[0]
        if len(group) < 2:
            continue
        given = [
            (int(part["mtu"].split()[0]) if "mtu" in part else None, each, part)
            for each in group
            for part in _ways(made.data["links"][each])
        ]
        sizes = {mtu or STANDARD_MTU for mtu, _, _ in given}
        if len(sizes) == 1:
            continue
        least = min(sizes)
        source = made.source(("links", name))
        if source is not None:
            network.leave(source, f"MTUs of {', '.join(map(str, sorted(sizes)))} B at one switch: all get {least} B")
        for each in group:
            for part in (made.data["links"][each], *_own(made.data["links"][each])):
                part.pop("mtu", None)
            if least != STANDARD_MTU:
                made.data["links"][each]["mtu"] = f"{least} B"


def _own(link: dict[str, Any]) -> list[dict[str, Any]]:
    return [link[way] for way in ("forward", "back") if way in link]


def _ways(link: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**link, **link.get(way, {})} for way in ("forward", "back")]
