"""Read the networks that a script built from the script's record, in the form of a topology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import structs

from lab.ext.mininet import wires
from lab.guest import outputs
from lab.record.record import Record, RecordError
from lab.units import Size, to_plain

FOLDER = f"{outputs.PROGRAM}/networks/"
LOG = f"{FOLDER}log.txt"  # the reports that failed
_RATES = ("htb", "tbf", "netem")  # the qdiscs that limit a rate, and report it


class BuiltQdisc(msgspec.Struct, frozen=True):
    """Holds a qdisc's settings, and its counters since it was created."""

    kind: str
    options: dict[str, Any]
    packets: int
    bytes: int
    drops: int
    root: bool


class BuiltInterface(msgspec.Struct, frozen=True):
    """Holds the kernel's report about an interface."""

    mtu: int
    addresses: list[str]
    qdiscs: list[BuiltQdisc]  # from the root down
    wire: dict[str, Any] | None = None  # the direction of an exact wire that the interface sends to, in plain form


class BuiltNode(msgspec.Struct, frozen=True):
    """Holds a node as Mininet had built it. An interface that the kernel did not have is None."""

    name: str
    kind: Literal["host", "switch", "controller"]
    made_by: str = msgspec.field(name="class")
    interfaces: dict[str, BuiltInterface | None] = {}


_End = tuple[str, str]  # node and interface


class Moment(msgspec.Struct, frozen=True):
    """Holds a network at one moment: after the script started it, or before the script stopped it."""

    moment: str
    nodes: list[BuiltNode]
    links: list[tuple[_End, _End]]


class CaptureOf(msgspec.Struct, frozen=True):
    """Holds the interface of a capture, and the numbers of packets in the capture and after its end."""

    node: str
    interface: str
    packets: int
    missed: int


class _Contents(msgspec.Struct, frozen=True):
    moments: list[Moment]
    captures: dict[str, CaptureOf]


class _Wire(msgspec.Struct, frozen=True):
    """Holds the settings of netem that a picture shows."""

    limit: int
    delay: str
    jitter: str
    loss: float
    reorder: float
    duplicate: float


_IDEAL = {"delay": "0 s", "jitter": "0 s", "loss": 0.0, "reorder": 0.0, "duplicate": 0.0}


@dataclass(frozen=True)
class BuiltNetwork:
    """Holds one network as Mininet had built it, and the names of its captures."""

    number: int  # from 1, in the order in which the script built them
    moments: tuple[Moment, ...]
    captures: Mapping[str, CaptureOf]  # by the output's name

    @property
    def nodes(self) -> list[BuiltNode]:
        """The nodes at the last moment."""
        return self.moments[-1].nodes if self.moments else []

    @property
    def links(self) -> list[tuple[_End, _End]]:
        """The links at the last moment."""
        return self.moments[-1].links if self.moments else []

    @property
    def packets(self) -> int:
        """The number of captured packets."""
        return sum(each.packets for each in self.captures.values())

    @property
    def missed(self) -> int:
        """The number of packets that came after the captures were full."""
        return sum(each.missed for each in self.captures.values())

    def interfaces(self) -> Iterator[tuple[_End, BuiltInterface]]:
        """Yield the interfaces that the kernel had."""
        for node in self.nodes:
            for name, state in node.interfaces.items():
                if state:
                    yield (node.name, name), state

    def plain(self, name: str) -> dict[str, Any]:
        """Return the network in the plain form of a topology with that name, without unconnected controllers."""
        there = dict(self.interfaces())
        known = {node.name for node in self.nodes}
        links = [link for link in self.links if known.issuperset(node for node, _ in link)]
        joined = {node for link in links for node, _ in link}
        return {
            "name": name,
            "nodes": [
                {"name": node.name, "kind": node.kind}
                for node in self.nodes
                if node.kind != "controller" or node.name in joined
            ],
            "links": [
                {
                    "name": f"link {number}",
                    "ends": [
                        {"node": end[0], "name": end[1], "addresses": there[end].addresses if end in there else []}
                        for end in link
                    ],
                    **{way: direction(there.get(end)) for way, end in zip(("forward", "back"), link, strict=True)},
                }
                for number, link in enumerate(links, 1)
            ],
        }


def direction(interface: BuiltInterface | None) -> dict[str, Any]:
    """Return what an interface's qdiscs, or its exact wire, do to the frames that it sends.

    The plain form is that of a link's direction.

    Raises ValidationError if these are not the settings of a qdisc.
    """
    if interface is None:
        return {**_IDEAL, "rate": None, "mtu": str(Size(0)), "queue": {"kind": "removed", "parameters": ()}}
    if interface.wire:
        return {**interface.wire, "mtu": str(Size(interface.mtu))}
    rates = [each.options["rate"] for each in interface.qdiscs if each.kind in _RATES and each.options.get("rate")]
    wire = {**_IDEAL, "rate": str(rates[0]) if rates else None, "mtu": str(Size(interface.mtu))}
    for each in interface.qdiscs:
        if each.kind == "netem":
            return {**wire, **msgspec.to_builtins(msgspec.convert(each.options, _Wire))}
    kind = next((each.kind for each in interface.qdiscs if not each.root), None) or next(
        (each.kind for each in interface.qdiscs), "noqueue"
    )
    return {**wire, "queue": {"kind": kind, "parameters": ()}}


def networks(record: Record) -> tuple[BuiltNetwork, ...]:
    """Return the networks that a script built, in their order. Raises RecordError for unreadable files."""
    found = []
    exact = {each.sender: to_plain(each.direction) for each in wires.directions(record)}
    for name in record.outputs:
        number = name.removeprefix(FOLDER).removesuffix(".json")
        if name == f"{FOLDER}{number}.json" and number.isdecimal():
            try:
                contents = msgspec.convert(record.json(name), _Contents)
            except msgspec.ValidationError as error:
                raise RecordError(f"{record.folder}: output '{name}' describes no network: {error}") from None
            captures = {f"{FOLDER}{number}/{file}": each for file, each in contents.captures.items()}
            moments = tuple(_with_wires(each, exact) for each in contents.moments)
            found.append(BuiltNetwork(int(number), moments, captures))
    return tuple(sorted(found, key=lambda each: each.number))


def _with_wires(moment: Moment, exact: Mapping[str, dict[str, Any]]) -> Moment:
    """Return the moment with the exact wires of its interfaces, as the script set them last."""
    nodes = [
        structs.replace(
            node,
            interfaces={
                name: state and structs.replace(state, wire=exact.get(name)) for name, state in node.interfaces.items()
            },
        )
        for node in moment.nodes
    ]
    return structs.replace(moment, nodes=nodes)
