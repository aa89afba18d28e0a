"""Describe a resolved network, which a fabric builds. Every address, rate and limit is set; no default is left.

The description is frozen and plain, so that a trial can carry it into its guest, and a record can store it
(`lab.units.to_plain`).
"""

from __future__ import annotations

import ipaddress
from enum import Enum
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from lab.units import Duration, Rate, Size

WAYS: tuple[Literal["forward"], Literal["back"]] = ("forward", "back")  # a link's directions, in this order everywhere

DISTRIBUTIONS = ("normal", "pareto", "paretonormal")
LAST = 4278198272  # the metric of a VRF's last route, of Linux's Documentation/networking/vrf.rst
MOST_DELAYS = 16  # of one direction, by destination: TCQ_PRIO_BANDS
MOST_MULTICAST = 32  # interfaces at which a router forwards multicast packets of one IP version: MAXVIFS and MAXMIFS

# These patterns also hold for a network that is read from a file: no name leads out of a folder, or looks like an
# option.
Name = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_.-]*\Z", max_length=128)]
Address = Annotated[str, Meta(pattern=r"\A[0-9a-fA-F.:]+(/[0-9]{1,3})?\Z", max_length=64)]
Destination = Annotated[str, Meta(pattern=r"\A(default|[0-9a-fA-F.:]+(/[0-9]{1,3})?)\Z", max_length=64)]
Sysctl = Annotated[str, Meta(pattern=r"\Anet\.(?!.*(\.\.|//))[A-Za-z0-9_./-]+\Z", max_length=128)]
SysctlValue = Annotated[str, Meta(pattern=r"\A[^\x00-\x08\x0a-\x1f\x7f]*\Z", max_length=1024)]
Probability = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0, lt=1 << 62)]


class Kind(str, Enum):
    """Names the kinds of nodes."""

    HOST = "host"
    ROUTER = "router"
    SWITCH = "switch"


class Shaper(str, Enum):
    """Names the places where a direction's rate can act.

    PATH: on the wire. Frames queue there, and the sender does not notice until a packet is lost or an ACK is late. NIC:
    in the sender's own interface, with back-pressure on its TCP (TCP small queues), as in a network card.
    """

    PATH = "path"
    NIC = "nic"


class Offloads(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Switches the segmentation and receive offloads of one end. With all offloads off, a wire carries frames, not
    super-packets.
    """

    tso: bool = False
    gso: bool = False
    gro: bool = False


Setting = str | int | bool

# CAKE's options that are words, in the order of their numbers in uapi linux/pkt_sched.h.
DIFFSERV = ("diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence")
ISOLATION = ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate")
ACK_FILTER = ("no-ack-filter", "ack-filter", "ack-filter-aggressive")


class Queue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes the qdisc in front of a rate limiter: its kind and its parameters, with tc's names."""

    kind: Name
    parameters: tuple[tuple[Name, Setting], ...] = ()  # sorted; quantities as text

    @property
    def is_bucket(self) -> bool:
        """Return whether the queue is a token bucket, which limits the rate itself."""
        return self.kind in ("tbf", "htb")

    @property
    def own_rate(self) -> Rate | None:
        """Return the rate that the queue itself has (a token bucket's), or None."""
        given = dict(self.parameters).get("rate")
        return None if given is None else Rate.of(str(given))


class BurstLoss(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes losses in the Gilbert-Elliott model. All fields are probabilities from 0 to 1."""

    p: Probability  # from the good state to the bad one
    r: Probability  # from the bad state to the good one
    bad: Probability  # of a loss in the bad state
    good: Probability  # of a loss in the good state


class Slot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes times at which frames are released together, `min` to `max` apart."""

    min: Duration
    max: Duration
    packets: Count | None = None  # at most; None: any number, also in the next field
    bytes: Size | None = None


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Describes a direction's new settings from `at` on, counted from the workload's start. None means no change.

    A change may repeat, at regular intervals or by chance (`lab.guest.fabric.moments`).
    """

    at: Duration
    rate: Rate | None = None
    delay: Duration | None = None
    loss: Probability | None = None
    mtu: Size | None = None
    down: Duration | None = None  # during this time it loses all frames that come in
    every: Duration | None = None  # from one time to the next; None: it comes once
    every_about: Duration | None = None  # in place of `every`: the mean of exponential gaps, the first from `at` on
    times: Count | None = None  # how often it comes; None: until the workload's end
    shared: bool = False  # whether a random change comes in both directions at once


class Trace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes when a link can carry data: the number of opportunities in each millisecond of a repeating period."""

    file: str  # its name
    counts: (
        str  # opportunities at millisecond 0, 1, 2, ... of the period: "count" or "count*times", with spaces between
    )
    opportunity: Size = Size(1500)  # the IP packet that one opportunity carries


class DelayTo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes the delay of frames whose destination is in a prefix."""

    to: Address  # with a prefix length
    delay: Duration


class Distribution(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Describes how a jitter is distributed: a name in DISTRIBUTIONS, or a file's name with its table."""

    name: Name
    table: str = ""  # of a file: whole numbers, 8192 for one jitter, with spaces between


class Direction(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Describes one direction of a link.

    Records omit default values, so new fields do not change a plain wire's record.
    """

    rate: Rate | None  # None: unlimited
    delay: Duration
    jitter: Duration
    loss: Probability  # this and the next two are probabilities from 0 to 1
    reorder: Probability
    duplicate: Probability
    mtu: Size
    limit: Count  # frames that the wire holds, queued and in flight together, as netem counts them
    shaper: Shaper
    jitter_correlation: Probability = 0.0
    burst_loss: BurstLoss | None = None  # in place of `loss`
    corrupt: Probability = 0.0
    slot: Slot | None = None
    queue: Queue | None = None  # None: frames queue in the wire, first come, first served
    changes: tuple[Change, ...] = ()  # in their order
    trace: Trace | None = None  # in place of `rate`
    loss_correlation: Probability = 0.0  # netem's, which changes how many frames are lost
    reorder_gap: Count = 0  # the least distance between two frames that overtake others; 0 and 1: any
    distribution: Distribution | None = None  # None: the jitter is uniform; otherwise, it is the standard deviation
    in_order: bool = False  # whether frames stay in order although the wire has no rate
    delays: tuple[DelayTo, ...] = ()  # the longest prefix first; frames to other destinations take `delay`

    @property
    def least_rate(self) -> Rate | None:
        """Return the smaller of the link's rate and its token bucket's, or None if neither has a rate."""
        rates = (self.rate, self.queue.own_rate if self.queue else None)
        return min((rate for rate in rates if rate is not None), default=None)

    @property
    def is_left_to_chance(self) -> bool:
        """Return whether the direction treats frames at random: loses, delays, reorders, duplicates or corrupts them,
        or changes by chance.
        """
        chances = (self.jitter.ns, self.loss, self.reorder, self.duplicate, self.burst_loss, self.corrupt)
        return any(chances) or any(change.loss or change.every_about for change in self.changes)


class Interface(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes one end of a link."""

    node: Name
    name: Name
    mac: Annotated[str, Meta(pattern=r"\A([0-9a-f]{2}(:[0-9a-f]{2}){5})?\Z")]  # empty for an end without one
    mtu: Size  # the device's
    addresses: tuple[Address, ...]  # in CIDR form; empty for a switch's port
    offloads: Offloads
    gso_max_segs: Count | None = None  # the most segments in a super-packet of TCP; None: the kernel's default
    gro_flush_timeout: Duration = Duration(0)  # this and the next are the interrupt coalescing that GRO needs
    napi_defer_hard_irqs: Count = 0


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes a wire between two interfaces."""

    name: Name
    ends: tuple[Interface, Interface]
    forward: Direction  # carries what `ends[0]` sends
    back: Direction  # carries what `ends[1]` sends

    def directions(self) -> tuple[tuple[Interface, Direction, Interface], ...]:
        """Return (sending end, direction, receiving end) for both directions."""
        first, second = self.ends
        return (first, self.forward, second), (second, self.back, first)


class Carried(str, Enum):
    """Names the kinds of links that other links carry."""

    BOND = "bond"
    VLAN = "vlan"
    GRE = "gre"
    IPIP = "ipip"
    VXLAN = "vxlan"


class Bonding(str, Enum):
    """Names the ways in which a bond uses its links."""

    BALANCE_RR = "balance-rr"
    ACTIVE_BACKUP = "active-backup"
    LACP = "802.3ad"


class Overlay(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Describes a link between two interfaces that other links carry: a bond, a VLAN or a tunnel."""

    name: Name
    kind: Carried
    ends: tuple[Interface, Interface]
    below: tuple[tuple[Name, ...], tuple[Name, ...]]  # each end's interfaces that carry it
    outer: tuple[Address, Address] | None = None  # of a tunnel: each end's address in the packets that carry it
    number: Count = 0  # a VLAN's id, a VXLAN's network identifier, or a GRE tunnel's key; 0: no key
    mode: Bonding | None = None  # of a bond; this and the next two
    hash: Literal["layer2", "layer2+3", "layer3+4"] = "layer2"  # the fields that decide a frame's link in 802.3ad
    probe: Duration = Duration(0)  # how often ARP checks each link; 0: only the carrier counts

    def sides(self) -> tuple[tuple[Interface, int], tuple[Interface, int]]:
        """Return (end, its number) for both ends."""
        return (self.ends[0], 0), (self.ends[1], 1)


class Hop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes one of several next hops of a route."""

    interface: Name
    via: Address
    weight: Annotated[int, Meta(ge=1, le=256)]


class Route(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Describes a route of one node. Records always have the first five fields."""

    to: Destination
    interface: Name
    via: Address | None  # None: on-link
    mtu: Size | None  # None: the device's; the same holds for the next field
    advmss: Size | None
    hops: tuple[Hop, ...] = ()  # all next hops if there are several; `interface` and `via` are the first one's
    metric: Count = 0  # 0: the kernel's default; the same holds for the next two, in segments
    initcwnd: Count = 0
    initrwnd: Count = 0
    table: Count = 0  # of a VRF; 0: the main table
    declared: bool = False  # whether the topology declares it

    @property
    def is_multicast(self) -> bool:
        """Return whether the route leads to a multicast group."""
        return self.to != "default" and ipaddress.ip_network(self.to).is_multicast


class Vrf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes a part of a node with its own routing table."""

    name: Name
    table: Count
    interfaces: tuple[Name, ...]


class Forwarding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes where a router sends the multicast packets of one source."""

    group: Address
    source: Address
    interface: Name  # at which they arrive
    out: tuple[Name, ...]


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Describes a host, router or switch with its own network namespace."""

    name: Name
    kind: Kind
    sysctls: dict[Sysctl, SysctlValue]  # set in the node's namespace
    routes: tuple[Route, ...]
    vrfs: tuple[Vrf, ...] = ()
    multicast: tuple[Forwarding, ...] = ()

    def vrf(self, interface: str) -> Vrf | None:
        """Return the VRF of an interface, or None."""
        return next((vrf for vrf in self.vrfs if interface in vrf.interfaces), None)


class Network(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Describes a whole network. Node and link names are unique, and the node of every interface is in `nodes`.

    NODE.LINK names a node's end of that link, with the end's address.
    """

    name: str
    nodes: Annotated[tuple[Node, ...], Meta(min_length=1)]
    links: tuple[Link, ...]
    overlays: tuple[Overlay, ...] = ()  # each after the ones that carry it
    neighbours: Literal["known", "asked"] = "known"  # whether hardware addresses are known from the start
    names: Literal["", "ipv4", "ipv6"] = ""  # the only IP version to which names resolve; "": both, IPv4 first

    @property
    def is_left_to_chance(self) -> bool:
        """Return whether any direction of a link treats frames at random."""
        return any(direction.is_left_to_chance for link in self.links for _, direction, _ in link.directions())

    def node(self, name: str) -> Node:
        """Return the node called `name`, or the node of the end NODE.LINK. Raises KeyError if there is none."""
        wanted = self.node_of(name)
        for node in self.nodes:
            if node.name == wanted:
                return node
        raise KeyError(name)

    def ends(self) -> tuple[tuple[str, Interface], ...]:
        """Return (NODE.LINK, interface) for all ends of links and overlays."""
        every: tuple[Link | Overlay, ...] = (*self.links, *self.overlays)
        return tuple((f"{end.node}.{link.name}", end) for link in every for end in link.ends)

    def end(self, name: str) -> Interface | None:
        """Return the interface of NODE.LINK, or None if there is no such end."""
        return next((end for known, end in self.ends() if known == name), None) if "." in name else None

    def node_of(self, name: str) -> str:
        """Return the name of the node of the end NODE.LINK, or `name` itself if there is no such end."""
        found = self.end(name)
        return found.node if found else name

    def interfaces(self, node: str) -> tuple[Interface, ...]:
        """Return the interfaces of `node`, in the order of links, then overlays."""
        return tuple(end for _, end in self.ends() if end.node == node)

    def address(self, node: str, version: int = 4) -> str:
        """Return the first address of this IP version, without prefix length, of a node or an end NODE.LINK.

        Without links, it is the loopback address. Raises KeyError if there is no such address.
        """
        if not self.links and any(each.name == node for each in self.nodes):
            return "::1" if version == 6 else "127.0.0.1"
        found = self.end(node)
        for interface in (found,) if found else self.interfaces(node):
            for address in interface.addresses:
                if (":" in address) == (version == 6):
                    return address.split("/")[0]
        raise KeyError(f"{node} has no IPv{version} address")
