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


class Direction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describes one direction of a link."""

    rate: Rate | None  # None: unlimited
    delay: Duration
    jitter: Duration
    loss: float  # this and the next two are probabilities from 0 to 1
    reorder: float
    duplicate: float
    mtu: Size
    limit: int  # frames that the wire holds, queued and in flight together, as netem counts them
    shaper: Shaper

    @property
    def is_left_to_chance(self) -> bool:
        """Say whether it loses, delays, reorders or duplicates frames by chance."""
        return bool(self.jitter.ns or self.loss or self.reorder or self.duplicate)


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
