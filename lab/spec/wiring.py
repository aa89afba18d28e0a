"""Check which nodes the links join, in raw data that may have other mistakes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.spec.document import Place
from lab.spec.errors import suggestion

KINDS = ("hosts", "routers", "switches")
RESERVED = {
    "wires": "the lab's namespace of all wires has this name",
    "localhost": "it is each node's own name for itself",
}


def mistakes(data: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield (place, message) for every repeated or unconnected node, and every link that does not join two nodes."""
    nodes: dict[str, Place] = {}
    for kind in KINDS:
        part = data.get(kind)
        for index, name in enumerate(_names(part)):
            place: Place = (kind, name if isinstance(part, Mapping) else index)
            if name in RESERVED:
                yield place, f"no node can be called '{name}', because {RESERVED[name]}; choose a different name"
            if name in nodes:
                yield place, f"'{name}' is already one of the {nodes[name][0]}; choose a different name"
            nodes.setdefault(name, place)
    links = data.get("links")
    links = links if isinstance(links, Mapping) else {}
    for name, link in links.items():
        if name in nodes:
            yield ("links", name), f"'{name}' is already one of the {nodes[name][0]}; choose a different name"
        if isinstance(link, Mapping) and "ends" in link:
            yield from _ends(("links", name, "ends"), link["ends"], nodes)
    connected = {end for link in links.values() if isinstance(link, Mapping) for end in _names(link.get("ends"))}
    if not nodes and "hosts" in data:
        yield ("hosts",), "name at least one"
    if links or len(nodes) > 1:
        for name, place in nodes.items():
            if name not in connected:
                yield place, f"'{name}' has no link; add one, or leave the node out"
    yield from _loops(links, {name for name, place in nodes.items() if place[0] == "switches"})


def _ends(place: Place, ends: object, nodes: Mapping[str, Place]) -> Iterator[tuple[Place, str]]:
    names = _names(ends)
    if len(names) != 2:
        yield place, f"a link has two ends, not {len(names)}; name two nodes"
    elif names[0] == names[1]:
        yield place, f"joins '{names[0]}' to itself; name two nodes"
    for index, name in enumerate(names):
        if name not in nodes:
            step = name if isinstance(ends, Mapping) else index
            yield (
                (*place, step),
                f"unknown node '{name}'{suggestion(name, nodes) or '; add it to hosts, routers or switches'}",
            )


def _loops(links: Mapping[str, Any], switches: set[str]) -> Iterator[tuple[Place, str]]:
    """Yield the links that close a loop of switches. Frames would circulate there forever, without a spanning tree."""
    island = {switch: switch for switch in switches}
    for name, link in links.items():
        ends = _names(link.get("ends")) if isinstance(link, Mapping) else []
        if len(ends) == 2 and ends[0] != ends[1] and switches.issuperset(ends):
            first, second = island[ends[0]], island[ends[1]]
            if first == second:
                yield ("links", name), "closes a loop of switches"
            island = {switch: first if found == second else found for switch, found in island.items()}


def _names(part: object) -> list[str]:
    return [name for name in part if isinstance(name, str)] if isinstance(part, list | tuple | Mapping) else []
