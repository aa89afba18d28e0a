"""Define the format of a topology file: its keys, their types, and the mistakes that show within one part."""

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

from lab.guest import trace
from lab.guest.network import Queue, Shaper, Trace
from lab.guest.share import Percent
from lab.spec import changing, queue
from lab.spec.document import Place
from lab.spec.errors import no_file
from lab.units import Duration, Quantity, Rate, Size

MTU_MIN, MTU_MAX = 68, 65535  # bytes: the datagram that every network must carry (RFC 791); the largest MTU of a veth
AMPLE = "ample"  # a limit with which a single flow loses nothing
MTU_MIN_IPV6 = 1280  # bytes, RFC 8200 section 5
LEAST_CHANCE = 1e-7  # netem's steps of 2^-32, of which it may draw one too many, are 0.35 % of it
MOST_SLOT = Duration(2**31)  # from min to max: kernels before 7.0 multiply it by 32 random bits, in 64 bits with a sign


class Mistakes(ValueError):
    """Raised for mistakes in one part. The error holds all mistakes, each with its place relative to the part."""

    def __init__(self, found: Iterable[tuple[Place, str]]) -> None:
        self.found = tuple(dict.fromkeys(found))
        super().__init__("; ".join(message for _, message in self.found))


def _quantity_schema(kind: type[Quantity]) -> WithJsonSchema:
    units = "|".join(kind.units)
    return WithJsonSchema({"type": "string", "pattern": rf"^\s*[0-9.eE+]+\s*({units})\s*$", "examples": [kind.example]})


def _nonzero(rate: Rate) -> Rate:
    if not rate:
        raise ValueError("a rate of zero carries nothing; leave it out for an unlimited rate")
    return rate


def _mtu(size: Size) -> Size:
    if not MTU_MIN <= size.bytes <= MTU_MAX:
        raise ValueError(f"an MTU of {size} is not between {MTU_MIN} B and {MTU_MAX} B")
    return size


def _chance(share: Percent) -> Percent:
    if 0 < share < LEAST_CHANCE:
        raise ValueError(f"netem draws in steps of 2^-32; use {LEAST_CHANCE * 100:.5f} % or more, or leave it out")
    return share


def _limit(value: object) -> int | str:
    if value == AMPLE or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**32):
        return value
    raise ValueError(f"'{value}' should be a number of frames from 1 to {2**32 - 1}, or {AMPLE}")


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
            address = ipaddress.ip_interface(text)
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


def _queue(value: object) -> Queue:
    if isinstance(value, Queue):  # already read: an experiment changes a topology that was loaded before
        return value
    found, mistakes = queue.read(value)
    if found is None:
        raise Mistakes(mistakes)
    return found


def _trace(value: object, info: ValidationInfo[Path]) -> Trace:
    if isinstance(value, Trace):
        return value
    if not (file := Path(info.context, str(value))).is_file():
        raise ValueError(f"the trace {no_file(file)}")
    return trace.read(str(value), info.context)


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")]
RateText = Annotated[Rate, PlainValidator(Rate.of), AfterValidator(_nonzero), _quantity_schema(Rate)]
DurationText = Annotated[Duration, PlainValidator(Duration.of), _quantity_schema(Duration)]
SizeText = Annotated[Size, PlainValidator(Size.of), _quantity_schema(Size)]
MtuText = Annotated[Size, PlainValidator(Size.of), AfterValidator(_mtu), _quantity_schema(Size)]
PercentText = Annotated[
    Percent,
    PlainValidator(Percent.of),
    AfterValidator(_chance),
    WithJsonSchema({"type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$", "examples": ["1 %"]}),
]
SysctlName = Annotated[str, StringConstraints(pattern=r"^net\.[A-Za-z0-9_./-]+$")]
SysctlText = Annotated[str, PlainValidator(_sysctl_value), WithJsonSchema({"type": ["integer", "string"]})]
Sysctls = Annotated[dict[SysctlName, SysctlText], AfterValidator(_sysctls)]
Addresses = Annotated[tuple[str, ...], Strict(False), AfterValidator(_addresses)]
SegmentsText = Annotated[int, Field(ge=1, le=65535)]
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


LimitText = Annotated[
    int | str,
    PlainValidator(_limit),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 2**32 - 1}, {"const": AMPLE}]}),
]


class Part(BaseModel):
    """Checks a mapping of the file. A part accepts only known keys and exact types, and is immutable."""

    # Build a validator on first use only: most parts are only used as fields of a larger part.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


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
    advmss: SizeText | None = None
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


class SwitchPart(Part):
    """A switch, whose links form one subnet."""


class BurstLossPart(Part):
    """The Gilbert-Elliott model: a good and a bad state, each with its own loss. The state may change after each
    frame.
    """

    p: PercentText
    """The chance, after a frame in the good state, that the state turns bad."""
    r: PercentText
    """The chance, after a frame in the bad state, that the state turns good."""
    bad: PercentText | None = None
    """The share of frames lost in the bad state. Default: all."""
    good: PercentText | None = None
    """The share of frames lost in the good state. Default: none."""


class SlotPart(Part):
    """Times at which frames are released together, as on a radio that takes turns with others."""

    min: DurationText
    """The shortest time between two releases."""
    max: DurationText
    """The longest time between two releases. If it differs from `min`, each time is drawn uniformly from the range."""
    packets: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    """The maximum number of frames released at once."""
    bytes: SizeText | None = None
    """The maximum number of bytes released at once. A frame that begins within the limit is released whole."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise Mistakes([(("max",), f"{self.max} is shorter than min, {self.min}")])
        if not self.max:
            raise Mistakes([(("max",), "should be longer than zero")])
        if self.max.ns - self.min.ns > MOST_SLOT.ns:
            raise Mistakes([(("max",), f"netem cannot draw a slot more than {MOST_SLOT} longer than min")])
        if self.bytes is not None and self.bytes.bytes >= 2**31:
            raise Mistakes([(("bytes",), f"{self.bytes} is more than netem can count; use less than 2 GiB")])
        return self


class ChangePart(Part):
    """New settings of a direction from some time on. Settings that are left out do not change."""

    at: DurationText
    """When the settings change, counted from the workload's start."""
    rate: RateText | None = None
    """The rate from then on. A frame that is already on the wire keeps the old rate."""
    delay: DurationText | None = None
    """The delay of frames sent from then on."""
    loss: PercentText | None = None
    """The share of frames lost at random from then on."""
    mtu: MtuText | None = None
    """The largest IP packet from then on, at most the link's MTU."""
    down: DurationText | None = None
    """How long the wire loses every frame."""

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if all(getattr(self, key) is None for key in type(self).model_fields if key != "at"):
            raise Mistakes([((), "changes nothing; give it a rate, a delay, a loss, an mtu or down")])
        return self


class DirectionPart(Part):
    """The settings of one direction of a link, or of both."""

    rate: RateText | None = None
    """Bits of whole Ethernet frames per second, including preamble, FCS and gap. Default: unlimited."""
    delay: DurationText | None = None
    """The one-way delay, without the time that a frame takes at the rate."""
    jitter: DurationText | None = None
    """The maximum variation of the delay, plus or minus."""
    loss: PercentText | None = None
    """The share of frames lost at random."""
    reorder: PercentText | None = None
    """The share of frames that overtake others because they are sent without the delay."""
    duplicate: PercentText | None = None
    """The share of frames delivered twice."""
    mtu: MtuText | None = None
    """The largest IP packet. Default: 1500 B. Below 1280 B the link carries IPv4 only."""
    limit: LimitText | None = None
    """The number of frames that the wire holds, queued and in flight. Default: the frames in flight, plus a queue of
    100 ms of full frames at the link's rate (at least 20 frames, at most one receive window). `ample`: the frames in
    flight, plus a queue of one receive window, so that a single flow loses nothing.
    """
    shaper: Annotated[Shaper, Strict(False)] | None = None
    """Where the rate acts: `path` (on the wire, with no back-pressure on the sender) or `nic` (with back-pressure)."""
    jitter_correlation: PercentText | None = None
    """How much a frame's delay depends on the delay of the previous frame, for a jitter of 2144 ms or more."""
    burst_loss: BurstLossPart | None = None
    """Loss in bursts, with the Gilbert-Elliott model. Use it instead of `loss`."""
    corrupt: PercentText | None = None
    """The share of frames in which one bit is flipped."""
    slot: SlotPart | None = None
    """Times at which the wire releases the frames that it has held until then."""
    queue: QueueText | None = None
    """The queue in front of the rate: a kind, or a mapping with the kind and its parameters, with tc's names."""
    changes: Annotated[tuple[ChangePart, ...], Strict(False)] | None = None
    """The link's changes while the workload runs, in order."""
    trace: TraceText | None = None
    """A file next to the topology file that lists when the link can carry a frame, in Mahimahi's format or as CSV."""


class LinkPart(DirectionPart):
    """A wire between two nodes. The settings apply to both directions; `forward` and `back` override them."""

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
            yield place("jitter"), f"{jitter} is more than the delay of {delay}; give a longer delay"
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
    """The wires, by name. In this order, the interfaces of each node are eth0, eth1 and so on."""
