"""Define the format of a topology file: its keys, their types, and what one part of it can get wrong by itself."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    Strict,
    StringConstraints,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from lab.spec import changing, queue, trace
from lab.spec.document import Place
from lab.spec.network import Queue, Shaper, Trace
from lab.spec.share import Percent
from lab.units import Duration, Quantity, Rate, Size

MTU_MIN, MTU_MAX = 68, 65535  # bytes: RFC 791's smallest datagram that every network carries; the largest veth takes
MTU_MIN_IPV6 = 1280  # bytes, RFC 8200 section 5


class Mistakes(ValueError):
    """Raised with all mistakes in one part, each with its place relative to that part."""

    def __init__(self, found: Iterable[tuple[Place, str]]) -> None:
        self.found = tuple(dict.fromkeys(found))
        super().__init__("; ".join(message for _, message in self.found))


def _quantity_schema(kind: type[Quantity]) -> WithJsonSchema:
    units = "|".join(kind.units)
    return WithJsonSchema({"type": "string", "pattern": rf"^\s*[0-9.eE+]+\s*({units})\s*$", "examples": [kind.example]})


def _nonzero(rate: Rate) -> Rate:
    if not rate:
        raise ValueError("a rate of zero carries nothing: leave it out for an unlimited one")
    return rate


def _mtu(size: Size) -> Size:
    if not MTU_MIN <= size.bytes <= MTU_MAX:
        raise ValueError(f"an MTU of {size} is not within {MTU_MIN} B and {MTU_MAX} B")
    return size


def _by_name(value: Any) -> Any:
    """Turn [a, b] into {a: {}, b: {}}, and what was left empty into {}; `wiring` finds a name given twice."""
    if isinstance(value, list | tuple):
        if not all(isinstance(name, str) for name in value):
            raise ValueError("should be names, or names with their settings")
        return {name: {} for name in value}
    if isinstance(value, dict):
        return {name: {} if settings is None else settings for name, settings in value.items()}
    raise ValueError("should be names, or names with their settings")


def _sysctl_value(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"'{value}' is not a sysctl's value: write a number or a text, with 1 and 0 for on and off")
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
            address = ipaddress.ip_interface(text)
        except ValueError:
            mistakes.append(((index,), f"'{text}' is not an address: write it like '192.0.2.1/24'"))
            continue
        network = address.network
        if "/" not in text:
            mistakes.append(((index,), f"'{text}' lacks its prefix length: write it like '{text}/24'"))
        elif address.version == 4 and network.prefixlen < 31 and address.ip in (network[0], network[-1]):
            mistakes.append(((index,), f"'{text}' is the network or broadcast address of {network}"))
        elif address.version in versions:
            mistakes.append(((index,), f"'{text}' is a second IPv{address.version} address of this end"))
        versions.add(address.version)
    if mistakes:
        raise Mistakes(mistakes)
    return tuple(str(ipaddress.ip_interface(text)) for text in texts)


def _queue(value: object) -> Queue:
    if isinstance(value, Queue):  # what was read before: the topology is changed by an experiment
        return value
    found, mistakes = queue.read(value)
    if found is None:
        raise Mistakes(mistakes)
    return found


def _trace(value: object, info: ValidationInfo[Path]) -> Trace:
    if isinstance(value, Trace):
        return value
    return trace.read(str(value), info.context)


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")]
RateText = Annotated[Rate, PlainValidator(Rate.of), AfterValidator(_nonzero), _quantity_schema(Rate)]
DurationText = Annotated[Duration, PlainValidator(Duration.of), _quantity_schema(Duration)]
SizeText = Annotated[Size, PlainValidator(Size.of), _quantity_schema(Size)]
MtuText = Annotated[Size, PlainValidator(Size.of), AfterValidator(_mtu), _quantity_schema(Size)]
PercentText = Annotated[
    Percent,
    PlainValidator(Percent.of),
    WithJsonSchema({"type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$", "examples": ["1 %"]}),
]
SysctlName = Annotated[str, StringConstraints(pattern=r"^net\.[A-Za-z0-9_./-]+$")]
SysctlText = Annotated[str, PlainValidator(_sysctl_value), WithJsonSchema({"type": ["integer", "string"]})]
Sysctls = Annotated[dict[SysctlName, SysctlText], AfterValidator(_sysctls)]
Addresses = Annotated[tuple[str, ...], Strict(False), AfterValidator(_addresses)]
Segments = Annotated[int, Field(ge=1, le=65535)]
QueueText = Annotated[
    Queue,
    PlainValidator(_queue),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [kind for kind in queue.KINDS if kind not in queue.NEEDED]},
                {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": [*queue.KINDS]}}},
            ]
        }
    ),
]
TraceText = Annotated[Trace, PlainValidator(_trace), WithJsonSchema({"type": "string"})]


class Part(BaseModel):
    """Checks a mapping of the file: it takes only known keys and exact types, and never changes."""

    # Built when it is first used: most parts are only ever used as parts of a whole.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class OffloadsPart(Part):
    """Segmentation and receive offloads, each off unless switched on."""

    tso: bool | None = None
    """TCP segmentation offload."""
    gso: bool | None = None
    """Generic segmentation offload."""
    gro: bool | None = None
    """Generic receive offload; it merges what arrives within `coalescing`."""


class EndPart(Part):
    """The settings of one end of a link; they override those of its node."""

    addresses: Addresses = ()
    """At most one IPv4 and one IPv6 address, with prefix lengths; automatic otherwise."""
    offloads: OffloadsPart = OffloadsPart()
    """The offloads of this end."""
    gso_max_segs: Segments | None = None
    """The most segments in one super-packet that TCP builds for this end."""
    coalescing: DurationText | None = None
    """How long received packets wait for one another before GRO hands them up (gro_flush_timeout)."""
    advmss: SizeText | None = None
    """The MSS that this end advertises, whatever its MTU (a route's advmss)."""


class NodePart(Part):
    """A host or a router, and what all its ends share."""

    sysctls: Sysctls = {}
    """Its own sysctls, which override those of all nodes."""
    offloads: OffloadsPart = OffloadsPart()
    """The offloads of all its ends."""
    gso_max_segs: Segments | None = None
    """The most segments in one super-packet that TCP builds."""
    coalescing: DurationText | None = None
    """How long received packets wait for one another before GRO hands them up (gro_flush_timeout)."""


class SwitchPart(Part):
    """A switch: its links are one subnet."""


class BurstLossPart(Part):
    """The Gilbert-Elliott model: a good state and a bad one, left or kept frame by frame, with a loss in each."""

    p: PercentText
    """The chance that a frame is followed by the bad state, where it met the good one."""
    r: PercentText
    """The chance that a frame is followed by the good state, where it met the bad one."""
    bad: PercentText | None = None
    """Share of frames lost in the bad state; all unless given."""
    good: PercentText | None = None
    """Share of frames lost in the good state; none unless given."""


class SlotPart(Part):
    """Moments at which frames are let go together, as a radio does that sends in turn with others."""

    min: DurationText
    """The shortest time from one moment to the next."""
    max: DurationText
    """The longest; where it differs, chance draws each evenly between both."""
    packets: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    """The most frames that are let go at once."""
    bytes: SizeText | None = None
    """The most bytes that are let go at once; a frame that begins within is let go whole."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise Mistakes([(("max",), f"{self.max} is shorter than the least, {self.min}")])
        if not self.max:
            raise Mistakes([(("max",), "slots without a time between them are none")])
        return self


class ChangePart(Part):
    """What a direction does otherwise from a moment on; what it leaves out stays as it is."""

    at: DurationText
    """When: since the workload's start."""
    rate: RateText | None = None
    """The rate from then on; the frame that is on the wire keeps its own."""
    delay: DurationText | None = None
    """The delay of the frames that come from then on."""
    loss: PercentText | None = None
    """The share of frames lost at random from then on."""
    mtu: MtuText | None = None
    """The largest IP packet from then on; it fits the link's MTU."""
    down: DurationText | None = None
    """For how long the wire loses all that it is given."""

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if all(getattr(self, key) is None for key in type(self).model_fields if key != "at"):
            raise Mistakes([((), "changes nothing: give it a rate, a delay, a loss, an mtu or down")])
        return self


class DirectionPart(Part):
    """The settings of one direction of a link, or of both."""

    rate: RateText | None = None
    """Bits of whole Ethernet frames per second: preamble, FCS and gap included. Unlimited when left out."""
    delay: DurationText | None = None
    """The one-way delay, without the time that the rate takes."""
    jitter: DurationText | None = None
    """The delay varies by up to this much either way."""
    loss: PercentText | None = None
    """Share of frames lost at random."""
    reorder: PercentText | None = None
    """Share of frames that overtake: sent without the delay."""
    duplicate: PercentText | None = None
    """Share of frames delivered twice."""
    mtu: MtuText | None = None
    """The largest IP packet; 1500 B unless given. Below 1280 B the link carries IPv4 only."""
    limit: Annotated[int, Field(ge=1, lt=2**32)] | None = None
    """Frames that the wire holds, queued and in flight together; ample unless given."""
    shaper: Annotated[Shaper, Strict(False)] | None = None
    """Where the rate acts: path (on the wire, unfelt by the sender) or nic (pushing back on it)."""
    jitter_correlation: PercentText | None = None
    """How much the delay of one frame depends on that of the frame before."""
    burst_loss: BurstLossPart | None = None
    """Losses that come together, by the Gilbert-Elliott model, in place of `loss`."""
    corrupt: PercentText | None = None
    """Share of frames in which one bit is flipped."""
    slot: SlotPart | None = None
    """Frames leave together, at moments apart."""
    queue: QueueText | None = None
    """What queues before the rate: a kind, or a mapping of it and its parameters, in tc's words."""
    changes: Annotated[tuple[ChangePart, ...], Strict(False)] | None = None
    """What happens to the link while the workload runs, in order."""
    trace: TraceText | None = None
    """A file, beside this one, that says when the link can carry a frame: Mahimahi's format, or CSV."""


class LinkPart(DirectionPart):
    """A wire between two nodes. What it says holds for both directions; `forward` and `back` override it."""

    ends: Annotated[
        dict[Name, EndPart],
        BeforeValidator(
            _by_name,
            json_schema_input_type=Annotated[list[Name], Field(min_length=2, max_length=2)]
            | Annotated[dict[Name, EndPart | None], Field(min_length=2, max_length=2)],
        ),
    ]
    """The two nodes: [first, second], or each with the settings of its end."""
    forward: DirectionPart = DirectionPart()
    """What the first end sends."""
    back: DirectionPart = DirectionPart()
    """What the second end sends."""

    def way(self, way: Literal["forward", "back"], key: str) -> Any:
        """Return what holds for `key` in that direction, or None if nothing was said."""
        own = getattr(getattr(self, way), key)
        return getattr(self, key) if own is None else own

    @model_validator(mode="after")
    def _directions(self) -> Self:
        mistakes = [mistake for way in ("forward", "back") for mistake in self._contradictions(way)]
        if mistakes:
            raise Mistakes(mistakes)
        return self

    def _contradictions(self, way: Literal["forward", "back"]) -> Iterable[tuple[Place, str]]:
        def place(key: str) -> Place:
            return (key,) if getattr(getattr(self, way), key) is None else (way, key)

        delay = self.way(way, "delay") or Duration(0)
        jitter = self.way(way, "jitter") or Duration(0)
        if jitter > delay:
            yield place("jitter"), f"{jitter} is more than the delay of {delay}"
        if self.way(way, "reorder") and not delay:
            yield place("reorder"), "a frame overtakes only where the others have a delay"
        if self.way(way, "shaper") is Shaper.NIC and self.way(way, "rate") is None:
            yield place("shaper"), "a nic without a rate does not shape"
        yield from changing.contradictions(lambda key: self.way(way, key), place)


class TopologyPart(Part):
    """A topology: hosts, routers, switches and the links between them. The file's name is its name."""

    about: Annotated[str, Field(min_length=1)]
    """What it is, in a sentence."""
    hosts: Annotated[
        dict[Name, NodePart],
        BeforeValidator(_by_name, json_schema_input_type=list[Name] | dict[Name, NodePart | None]),
    ]
    """Where programs run: names, or names with their settings."""
    routers: Annotated[
        dict[Name, NodePart],
        BeforeValidator(_by_name, json_schema_input_type=list[Name] | dict[Name, NodePart | None]),
    ] = {}
    """What forwards between subnets."""
    switches: Annotated[
        dict[Name, SwitchPart],
        BeforeValidator(_by_name, json_schema_input_type=list[Name] | dict[Name, SwitchPart | None]),
    ] = {}
    """What joins links to one subnet."""
    sysctls: Sysctls = {}
    """Sysctls of every host and router."""
    links: dict[Name, LinkPart] = {}
    """The wires, by name. Each node's interfaces are eth0, eth1 and so on in this order."""
