"""A resolved network: every address, rate and limit decided, nothing left to default. What a fabric realises.

Frozen and plain, so that a trial carries it into its guest and a record keeps it (`lab.units.to_plain`).
"""

from __future__ import annotations

from enum import Enum

import msgspec

from lab.units import Duration, Rate, Size


class Kind(str, Enum):
    """What a node is."""

    HOST = "host"
    ROUTER = "router"
    SWITCH = "switch"


class Shaper(str, Enum):
    """Where a direction's rate acts.

    PATH: on the wire; frames queue there and the sender does not feel it until a packet is lost or an ACK late.
    NIC: in the sender's own interface, which pushes back on its TCP (TCP small queues), as a network card does.
    """

    PATH = "path"
    NIC = "nic"


class Offloads(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Segmentation and receive offloads of one end. All off, a wire carries frames; on, super-packets."""

    tso: bool = False
    gso: bool = False
    gro: bool = False


class Direction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way of a link.

    `rate` None is unlimited. `limit` is the number of frames that the wire holds, queued and in flight together,
    as netem counts them. `loss`, `reorder` and `duplicate` are probabilities from 0 to 1.
    """

    rate: Rate | None
    delay: Duration
    jitter: Duration
    loss: float
    reorder: float
    duplicate: float
    mtu: Size
    limit: int
    shaper: Shaper


class Interface(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One end of a link. `mtu` is the device's; `addresses` are in CIDR form, none on a switch's port.

    `gso_max_segs` bounds the segments of one super-packet that TCP builds (None: the kernel's default).
    `gro_flush_timeout` and `napi_defer_hard_irqs` are the interrupt coalescing that GRO needs.
    """

    node: str
    name: str
    mac: str
    mtu: Size
    addresses: tuple[str, ...]
    offloads: Offloads
    gso_max_segs: int | None = None
    gro_flush_timeout: Duration = Duration(0)
    napi_defer_hard_irqs: int = 0


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A wire between two interfaces; `forward` carries what `ends[0]` sends, `back` what `ends[1]` sends."""

    name: str
    ends: tuple[Interface, Interface]
    forward: Direction
    back: Direction

    def directions(self) -> tuple[tuple[Interface, Direction, Interface], ...]:
        """(sending end, direction, receiving end), both ways."""
        first, second = self.ends
        return (first, self.forward, second), (second, self.back, first)


class Route(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A route of one node. `via` None means on-link; `mtu` and `advmss` only where they differ from the device's."""

    to: str
    interface: str
    via: str | None = None
    mtu: Size | None = None
    advmss: Size | None = None


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A host, router or switch with its own network namespace. `sysctls` are set in that namespace."""

    name: str
    kind: Kind
    sysctls: dict[str, str]
    routes: tuple[Route, ...]


class Network(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole. Node and link names are unique; every interface's node is in `nodes`."""

    name: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]

    def node(self, name: str) -> Node:
        """The node called `name`. Raises KeyError."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def interfaces(self, node: str) -> tuple[Interface, ...]:
        """The interfaces of `node`, in link order."""
        return tuple(end for link in self.links for end in link.ends if end.node == node)

    def address(self, node: str, version: int = 4) -> str:
        """The first address of `node` of that IP version, without the prefix length; the loopback's where no link is.

        Raises KeyError.
        """
        if not self.links and any(each.name == node for each in self.nodes):
            return "::1" if version == 6 else "127.0.0.1"
        for interface in self.interfaces(node):
            for address in interface.addresses:
                if (":" in address) == (version == 6):
                    return address.split("/")[0]
        raise KeyError(f"{node} has no IPv{version} address")
