"""Describe a resolved network, which a fabric realises: every address, rate and limit decided, nothing left to default.

It is frozen and plain, so that a trial carries it into its guest and a record keeps it (`lab.units.to_plain`).
"""

from __future__ import annotations

from enum import Enum
from typing import Literal

import msgspec

from lab.units import Duration, Rate, Size

WAYS: tuple[Literal["forward"], Literal["back"]] = ("forward", "back")  # a link's directions, in this order everywhere


class Kind(str, Enum):
    """Says what a node is."""

    HOST = "host"
    ROUTER = "router"
    SWITCH = "switch"


class Shaper(str, Enum):
    """Says where a direction's rate acts.

    PATH: on the wire; frames queue there and the sender does not feel it until a packet is lost or an ACK late.
    NIC: in the sender's own interface, which pushes back on its TCP (TCP small queues), as a network card does.
    """

    PATH = "path"
    NIC = "nic"


class Offloads(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Switches one end's segmentation and receive offloads. With all off a wire carries frames, else super-packets."""

    tso: bool = False
    gso: bool = False
    gro: bool = False


Setting = str | int | bool

# What CAKE can be told in words, in the order of uapi linux/pkt_sched.h, whose numbers they stand for.
DIFFSERV = ("diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence")
ISOLATION = ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate")
ACK_FILTER = ("no-ack-filter", "ack-filter", "ack-filter-aggressive")


class Queue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes a qdisc that queues before a rate: its kind, and what is not left to the kernel, in tc's words."""

    kind: str
    parameters: tuple[tuple[str, Setting], ...] = ()  # sorted; quantities as text


class BurstLoss(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes losses by the Gilbert-Elliott model. All are probabilities from 0 to 1."""

    p: float  # from the good state to the bad one
    r: float  # from the bad state to the good one
    bad: float  # of a loss in the bad state
    good: float  # of a loss in the good state


class Slot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes moments at which frames are let go together, `min` to `max` apart."""

    min: Duration
    max: Duration
    packets: int | None = None  # at most; None: any number, as the next
    bytes: Size | None = None


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Describes what a direction does otherwise from `at` on, counted from the workload's start. None: as before."""

    at: Duration
    rate: Rate | None = None
    delay: Duration | None = None
    loss: float | None = None
    mtu: Size | None = None
    down: Duration | None = None  # for so long it loses all that comes


class Trace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes when a link can carry something: so often at each millisecond, over and over again."""

    file: str  # its name
    counts: str  # opportunities at millisecond 0, 1, 2, ... of the period: "count" or "count*times", by spaces
    opportunity: Size = Size(1500)  # the IP packet that one carries


class Direction(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Describes one direction of a link. Defaults are left out of records: a plain wire reads as it always did."""

    rate: Rate | None  # None: unlimited
    delay: Duration
    jitter: Duration
    loss: float  # this and the next two are probabilities from 0 to 1
    reorder: float
    duplicate: float
    mtu: Size
    limit: int  # frames that the wire holds, queued and in flight together, as netem counts them
    shaper: Shaper
    jitter_correlation: float = 0.0
    burst_loss: BurstLoss | None = None  # in place of `loss`
    corrupt: float = 0.0
    slot: Slot | None = None
    queue: Queue | None = None  # None: frames queue in the wire, first come, first served
    changes: tuple[Change, ...] = ()  # in their order
    trace: Trace | None = None  # in place of `rate`

    @property
    def is_left_to_chance(self) -> bool:
        """Say whether it loses, delays, reorders, duplicates or corrupts frames by chance."""
        chances = (self.jitter.ns, self.loss, self.reorder, self.duplicate, self.burst_loss, self.corrupt)
        return any(chances) or any(change.loss for change in self.changes)


class Interface(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes one end of a link."""

    node: str
    name: str
    mac: str
    mtu: Size  # the device's
    addresses: tuple[str, ...]  # in CIDR form; none on a switch's port
    offloads: Offloads
    gso_max_segs: int | None = None  # the most segments in a super-packet that TCP builds; None: the kernel's default
    gro_flush_timeout: Duration = Duration(0)  # this and the next are the interrupt coalescing that GRO needs
    napi_defer_hard_irqs: int = 0


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes a wire between two interfaces."""

    name: str
    ends: tuple[Interface, Interface]
    forward: Direction  # carries what `ends[0]` sends
    back: Direction  # carries what `ends[1]` sends

    def directions(self) -> tuple[tuple[Interface, Direction, Interface], ...]:
        """Return (sending end, direction, receiving end) for both ways."""
        first, second = self.ends
        return (first, self.forward, second), (second, self.back, first)


class Route(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes a route of one node."""

    to: str
    interface: str
    via: str | None = None  # None: on-link
    mtu: Size | None = None  # only where it differs from the device's, as the next
    advmss: Size | None = None


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes a host, router or switch with its own network namespace."""

    name: str
    kind: Kind
    sysctls: dict[str, str]  # set in that namespace
    routes: tuple[Route, ...]


class Network(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes a whole network. Node and link names are unique; every interface's node is in `nodes`."""

    name: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]

    @property
    def is_left_to_chance(self) -> bool:
        """Say whether a direction of any link is."""
        return any(direction.is_left_to_chance for link in self.links for _, direction, _ in link.directions())

    def node(self, name: str) -> Node:
        """Return the node called `name`. Raises KeyError when there is none."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def interfaces(self, node: str) -> tuple[Interface, ...]:
        """Return the interfaces of `node`, in link order."""
        return tuple(end for link in self.links for end in link.ends if end.node == node)

    def address(self, node: str, version: int = 4) -> str:
        """Return a node's first address of that IP version, without prefix length; the loopback's if nothing is linked.

        Raises KeyError when the node has none.
        """
        if not self.links and any(each.name == node for each in self.nodes):
            return "::1" if version == 6 else "127.0.0.1"
        for interface in self.interfaces(node):
            for address in interface.addresses:
                if (":" in address) == (version == 6):
                    return address.split("/")[0]
        raise KeyError(f"{node} has no IPv{version} address")
