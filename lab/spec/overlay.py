"""Define the keys of a link that other links carry: a bond, a VLAN or a tunnel, and the mistakes in one such link.

These links are declared under `links`, like wires, because addresses, VRFs, routes, names (NODE.LINK) and an arm's
changes treat them in the same way. The keys `bond`, `vlan` and `tunnel` distinguish them from wires.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, Strict

from lab.guest.network import Bonding, Carried
from lab.spec.direction import DirectionPart
from lab.spec.document import Place
from lab.spec.parts import DurationText, Part
from lab.units import Duration

KINDS = ("bond", "vlan", "tunnel")
ONLY = {"bond": ("mode", "hash", "probe"), "vlan": ("over",), "tunnel": ("id",)}  # keys that need the kind
IDS = {"gre": 2**32 - 1, "vxlan": 2**24 - 1}  # the largest key, the largest network identifier
LONGEST_PROBE = Duration.of("2147483647 ms")  # the kernel counts milliseconds in an int
PROBED = (Bonding.BALANCE_RR, Bonding.ACTIVE_BACKUP)  # the kernel's ARP monitor does not support 802.3ad


class OverlayPart(Part):
    """A link that other links carry. The settings of a wire belong to the links that carry it."""

    bond: Annotated[tuple[str, ...], Strict(False)] | None = None
    """The wires that form a bond, at least two, between the same two nodes."""
    mode: Annotated[Bonding, Strict(False)] | None = None
    """How a bond uses its wires. Default: `balance-rr`, one frame on each in turn."""
    hash: Literal["layer2", "layer2+3", "layer3+4"] | None = None
    """The fields of a frame by which an 802.3ad bond chooses its wire: MAC addresses, MAC and IP addresses, or IP
    addresses and ports. Default: `layer2`.
    """
    probe: DurationText | None = None
    """How often a bond checks each wire with an ARP request to the other end. Default: never, so that the bond notices
    only a missing carrier. A wire that is `down` keeps its carrier, and loses every frame.
    """
    vlan: Annotated[int, Field(ge=1, le=4094)] | None = None
    """The VLAN's id. Frames with its tag cross the link `over`."""
    over: str | None = None
    """The link that carries the VLAN: a wire (also to a switch), a bond, a VXLAN, or a different VLAN."""
    tunnel: Literal["gre", "ipip", "vxlan"] | None = None
    """The tunnel's kind. IPv4 packets between the nodes' first addresses carry it, along the nodes' routes."""
    id: Annotated[int, Field(ge=1)] | None = None
    """A GRE tunnel's key (default: no key), or a VXLAN's network identifier (default: 1)."""

    @property
    def carried(self) -> Carried | None:
        """Return the kind of a link that other links carry, or None for a wire."""
        if self.bond is not None:
            return Carried.BOND
        if self.vlan is not None:
            return Carried.VLAN
        return Carried(self.tunnel) if self.tunnel else None


def contradictions(link: OverlayPart, given: frozenset[str]) -> Iterator[tuple[Place, str]]:
    """Yield the mistakes in one link, of which the file gives the keys `given`."""
    kinds = [key for key in KINDS if getattr(link, key) is not None]
    for key in kinds[1:]:
        yield (key,), f"the link is already a {kinds[0]}; give only one of them"
    for kind, keys in ONLY.items():
        for key in keys if kind not in kinds else ():
            if getattr(link, key) is not None:
                yield (key,), f"only a {kind} has it"
    if not kinds:
        return
    for key in DirectionPart.model_fields:
        if key in given:
            yield (key,), f"other links carry this {kinds[0]}; set their {key}"
    for key in ("forward", "back"):
        if key in given:
            yield (key,), f"other links carry this {kinds[0]}; set their directions"
    if link.vlan is not None and link.over is None:
        yield ("vlan",), "name the link that carries the VLAN, like `over: trunk`"
    if link.bond is not None:
        mode = link.mode or Bonding.BALANCE_RR
        if len(link.bond) < 2:
            yield ("bond",), "a bond has at least two wires; name them like [one, two]"
        if link.hash is not None and mode is not Bonding.LACP:
            yield ("hash",), f"the mode {mode.value} does not use it; it is for 802.3ad"
        if link.probe is not None and mode not in PROBED:
            yield ("probe",), f"the kernel cannot probe the wires in the mode {mode.value}, which has its own protocol"
        if link.probe is not None and (link.probe.ns < 10**7 or link.probe.ns % 10**6 or link.probe > LONGEST_PROBE):
            yield ("probe",), f"{link.probe} should be whole milliseconds, from 10 ms to {LONGEST_PROBE}"
    if link.id is not None and link.tunnel is not None:
        if link.tunnel not in IDS:
            yield ("id",), f"an {link.tunnel} tunnel has no id; leave it out"
        elif link.id > IDS[link.tunnel]:
            yield ("id",), f"{link.id} is more than {IDS[link.tunnel]}, the largest id of a {link.tunnel} tunnel"
