"""Check that each wire carries frames and not super-packets: count frames above the wire's MTU, and describe the first.

A filter of four instructions precedes the redirect at each end of a wire (classic BPF, which needs privilege only over
the namespace). The filter checks a frame's length, and passes normal frames to the redirect at once. The filter counts
longer frames and copies them to `Witness`. Longer frames then continue as usual.

Here, the kernel's length does not include a VLAN's outer tag. The length includes an inner tag, which the filter allows
for.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from types import TracebackType
from typing import Self

from lab.guest.fabric import build, device
from lab.guest.fabric.spaces import WIRES, Spaces
from lab.guest.network import WAYS

_SHOWN = 128  # bytes of a frame, enough to identify it
_PROTOCOLS = {1: "ICMP", 4: "IPv4", 6: "TCP", 17: "UDP", 41: "IPv6", 47: "GRE", 50: "ESP", 58: "ICMPv6", 132: "SCTP"}
_WITH_PORTS = (6, 17, 132)


class Witness:
    """Stores the first frame that was longer than its wire's MTU. A `Witness` listens within a context."""

    def __init__(self, spaces: Spaces) -> None:
        self._spaces = spaces
        with spaces.inside(WIRES) as netlink:
            device.up(netlink, device.WITNESS)
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        self._socket.bind((device.WITNESS, device.ETH_P_ALL))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def reasons(self) -> list[str]:
        """Return the number of segments in overlong frames for each affected direction, and describe the first one."""
        found = list(_counted(self._spaces))
        shown = bytearray(_SHOWN)
        try:
            size = self._socket.recv_into(shown, 0, socket.MSG_PEEK | socket.MSG_DONTWAIT | socket.MSG_TRUNC)
        except BlockingIOError:
            return found
        return [*found, f"the first frame above an MTU: {described(bytes(shown), size)}"]


def _counted(spaces: Spaces) -> Iterator[str]:
    with spaces.inside(WIRES) as netlink:
        for number, link in enumerate(spaces.network.links):
            for side, (sender, direction, _) in enumerate(link.directions()):
                if build.longest_frame(sender, direction) is None:
                    continue
                count = device.overlong(netlink, build.wire_end(number, side))
                if count is None:
                    yield f"link {link.name}, {WAYS[side]}: nothing counts the frames above its MTU"
                elif count:
                    what = f"{count} segment{'s' if count > 1 else ''} in frames above the MTU of {direction.mtu}"
                    yield f"link {link.name}, {WAYS[side]}: {what}"


def described(frame: bytes, size: int) -> str:
    """Return a frame's description: its length, and for IP the protocol and both ends.

    `frame` may be only the start of the frame.
    """
    (kind,) = struct.unpack_from(">H", frame, 12)
    packet = frame[14:]
    if kind == 0x0800 and len(packet) >= 20:
        protocol, ends, payload = packet[9], struct.unpack_from(">4s4s", packet, 12), packet[4 * (packet[0] & 15) :]
        addresses = [str(IPv4Address(end)) for end in ends]
    elif kind == 0x86DD and len(packet) >= 40:
        protocol, ends, payload = packet[6], struct.unpack_from(">16s16s", packet, 8), packet[40:]
        addresses = [f"[{IPv6Address(end)}]" for end in ends]
    else:
        return f"{size} B of EtherType {kind:#06x} from {frame[6:12].hex(':')}"
    if protocol in _WITH_PORTS and len(payload) >= 4:
        ports = struct.unpack_from(">HH", payload)
        addresses = [f"{address}:{port}" for address, port in zip(addresses, ports, strict=True)]
    return f"{size} B of {_PROTOCOLS.get(protocol, f'IP protocol {protocol}')}, {' to '.join(addresses)}"
