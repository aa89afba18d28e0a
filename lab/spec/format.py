"""Define the format of a topology file: its keys, their types, and the mistakes that show within one part."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    Strict,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from lab.guest.network import Shaper
from lab.spec import changing, overlay
from lab.spec.direction import DirectionPart
from lab.spec.document import Place
from lab.spec.parts import AdvmssText, DurationText, Mistakes, Part
from lab.spec.routes import Groups, Routes, Vrfs
from lab.units import Duration


def _by_name(value: Any) -> Any:
    """Turn [a, b] into {a: {}, b: {}}, and an empty value into {}. `wiring` finds repeated names."""
    if isinstance(value, list | tuple):
        if not all(isinstance(name, str) for name in value):
            raise ValueError("should be names, or names with their settings")
        return {name: {} for name in value}
    if isinstance(value, dict):
        return {name: {} if settings is None else settings for name, settings in value.items()}
    raise ValueError("should be names, or names with their settings")


def _sysctl_value(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"'{value}' is not a sysctl's value; write a number or a text, with 1 for on and 0 for off")
    text = " ".join(str(value).split())
    if not text or not text.isprintable():
        raise ValueError("a sysctl's value should be a number or a text")
    return text


def _sysctls(values: dict[str, str]) -> dict[str, str]:
    mistakes: list[tuple[Place, str]] = []
    for name, value in values.items():
        if name in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"):
            sizes = [int(size) for size in value.split() if size.isascii() and size.isdigit()]
            if len(sizes) != 3 or len(value.split()) != 3 or sizes != sorted(sizes):
                mistakes.append(((name,), f"'{value}' should be three rising numbers of bytes: least, initial, most"))
    if mistakes:
        raise Mistakes(mistakes)
    return values


def _addresses(texts: tuple[str, ...]) -> tuple[str, ...]:
    mistakes: list[tuple[Place, str]] = []
    versions: set[int] = set()
    for index, text in enumerate(texts):
        try:
            address = ipaddress.ip_interface(text if "%" not in text else "")  # a scope is of a link, not of a node
        except ValueError:
            mistakes.append(((index,), f"'{text}' is not an address; write it like '192.0.2.1/24'"))
            continue
        network = address.network
        if "/" not in text:
            mistakes.append(((index,), f"'{text}' has no prefix length; write it like '{text}/24'"))
        elif address.version == 4 and network.prefixlen < 31 and address.ip in (network[0], network[-1]):
            mistakes.append(((index,), f"'{text}' is the network or broadcast address of {network}"))
        elif address.version in versions:
            mistakes.append(((index,), f"'{text}' is a second IPv{address.version} address of this end"))
        versions.add(address.version)
    if mistakes:
        raise Mistakes(mistakes)
    return tuple(str(ipaddress.ip_interface(text)) for text in texts)


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")]
SysctlName = Annotated[str, StringConstraints(pattern=r"^net\.[A-Za-z0-9_./-]+$")]
SysctlText = Annotated[str, PlainValidator(_sysctl_value), WithJsonSchema({"type": ["integer", "string"]})]
Sysctls = Annotated[dict[SysctlName, SysctlText], AfterValidator(_sysctls)]
Addresses = Annotated[tuple[str, ...], Strict(False), AfterValidator(_addresses)]
SegmentsText = Annotated[int, Field(ge=1, le=65535)]


class OffloadsPart(Part):
    """Segmentation and receive offloads. Default: off."""

    tso: bool | None = None
    """TCP segmentation offload."""
    gso: bool | None = None
    """Generic segmentation offload."""
    gro: bool | None = None
    """Generic receive offload, which merges packets that arrive within `coalescing`."""


class EndPart(Part):
    """The settings of one end of a link, which override those of its node."""

    addresses: Addresses = ()
    """At most one IPv4 and one IPv6 address, with prefix lengths. Default: automatic."""
    offloads: OffloadsPart = OffloadsPart()
    """The offloads of this end."""
    gso_max_segs: SegmentsText | None = None
    """The maximum number of segments in a super-packet that TCP builds for this end."""
    coalescing: DurationText | None = None
    """How long received packets wait for others to merge with before GRO passes them up (gro_flush_timeout)."""
    advmss: AdvmssText | None = None
    """The MSS that this end advertises, regardless of its MTU (the advmss of a route)."""


class NodePart(Part):
    """A host or a router, with the settings that all its ends share."""

    sysctls: Sysctls = {}
    """The sysctls of this node, which override those of all nodes."""
    offloads: OffloadsPart = OffloadsPart()
    """The offloads of all ends of this node."""
    gso_max_segs: SegmentsText | None = None
    """The maximum number of segments in a super-packet that TCP builds."""
    coalescing: DurationText | None = None
    """How long received packets wait for others to merge with before GRO passes them up (gro_flush_timeout)."""
    routes: Routes = ()
    """Routes instead of the automatic ones, which lead to every subnet through the fewest routers."""
    vrfs: Vrfs = {}
    """The VRFs, by name: a list of links. Their ends on this node share their own routing table."""


class SwitchPart(Part):
    """A switch, whose links form one subnet."""


class LinkPart(DirectionPart, overlay.OverlayPart):
    """A wire between two nodes, whose settings apply to both directions; `forward` and `back` override them. With
    `bond`, `vlan` or `tunnel`: a link that other links carry.
    """

    ends: Annotated[
        dict[Name, EndPart],
        BeforeValidator(
            _by_name,
            json_schema_input_type=Annotated[list[Name], Field(min_length=2, max_length=2)]
            | Annotated[dict[Name, EndPart | None], Field(min_length=2, max_length=2)],
        ),
    ]
    """The two nodes: [first, second], or a mapping from each node to the settings of its end."""
    forward: DirectionPart = DirectionPart()
    """The direction from the first end to the second."""
    back: DirectionPart = DirectionPart()
    """The direction from the second end to the first."""

    def way(self, way: Literal["forward", "back"], key: str) -> Any:
        """Return the value of `key` in that direction, or None."""
        return getattr(self if self.shares(way, key) else getattr(self, way), key)

    def shares(self, way: Literal["forward", "back"], key: str) -> bool:
        """Return whether that direction has the value of `key` that is written beside `ends`."""
        return getattr(getattr(self, way), key) is None

    @model_validator(mode="after")
    def _directions(self) -> Self:
        mistakes = [mistake for way in ("forward", "back") for mistake in self._contradictions(way)]
        empty = {way for way in ("forward", "back") if not getattr(self, way).model_fields_set}
        mistakes += overlay.contradictions(self, frozenset(self.model_fields_set - empty))
        if mistakes:
            raise Mistakes(mistakes)
        return self

    def _contradictions(self, way: Literal["forward", "back"]) -> Iterable[tuple[Place, str]]:
        def place(key: str) -> Place:
            return (key,) if self.shares(way, key) else (way, key)

        delay = self.way(way, "delay") or Duration(0)
        if self.way(way, "reorder") and not delay:
            yield place("reorder"), "a frame can only overtake others if the link has a delay; give it one"
        if self.way(way, "shaper") is Shaper.NIC and self.way(way, "rate") is None:
            yield place("shaper"), "a nic shapes only with a rate; give the link one"
        yield from changing.contradictions(lambda key: self.way(way, key), place)


class TopologyPart(Part):
    """A topology: hosts, routers, switches and the links between them. The topology is named after the file."""

    about: Annotated[str, Field(min_length=1)]
    """One sentence that describes the topology."""
    hosts: Annotated[
        dict[Name, NodePart],
        BeforeValidator(_by_name, json_schema_input_type=list[Name] | dict[Name, NodePart | None]),
    ]
    """The nodes that run programs: names, or names with settings."""
    routers: Annotated[
        dict[Name, NodePart],
        BeforeValidator(_by_name, json_schema_input_type=list[Name] | dict[Name, NodePart | None]),
    ] = {}
    """The nodes that forward packets between subnets."""
    switches: Annotated[
        dict[Name, SwitchPart],
        BeforeValidator(_by_name, json_schema_input_type=list[Name] | dict[Name, SwitchPart | None]),
    ] = {}
    """The nodes that join links into one subnet."""
    sysctls: Sysctls = {}
    """The sysctls of every host and router."""
    links: dict[Name, LinkPart] = {}
    """The links, by name. In this order, the wires' interfaces of each node are eth0, eth1 and so on."""
    multicast: Groups = {}
    """The multicast groups that routers forward, by address."""
    neighbours: Literal["known", "asked"] = "known"
    """Whether nodes know their neighbours' hardware addresses from the start, or ask for them with ARP and neighbour
    discovery. Default: `known`.
    """
    names: Literal["ipv4", "ipv6"] | None = None
    """The only IP version to which a node's name resolves. Default: both, and programs prefer IPv4."""

    def nodes(self) -> Iterator[tuple[Literal["hosts", "routers"], str, NodePart]]:
        """Yield (the key that holds it, name, settings) for each host and then for each router."""
        yield from (("hosts", name, part) for name, part in self.hosts.items())
        yield from (("routers", name, part) for name, part in self.routers.items())

    def node(self, name: str) -> NodePart:
        """Return the settings of a host or a router. A switch has none."""
        return self.hosts.get(name) or self.routers.get(name) or NodePart()
