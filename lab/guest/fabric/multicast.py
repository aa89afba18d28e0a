"""Let routers forward multicast packets along declared trees, and read the entries back.

A kernel forwards multicast only while a socket of a routing program is open (MRT_INIT of uapi linux/mroute.h, MRT6_INIT
of linux/mroute6.h). Here, the fabric holds this socket.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lab.guest.fabric import device
from lab.guest.fabric.netlink import Netlink
from lab.guest.fabric.spaces import Spaces
from lab.guest.network import MOST_MULTICAST, Forwarding, Node

INIT, ADD_INTERFACE, ADD_ENTRY = 200, 202, 204  # the same numbers for both IP versions
BY_INDEX = 0x8  # VIFF_USE_IFINDEX
_VIF = struct.Struct("=HBBIi4s")
_MIF = struct.Struct("=HBBHxxI")
_MFC = struct.Struct(f"=4s4sH{MOST_MULTICAST}sxx12xi")
_SOCKADDR = struct.Struct("=HHI16sI")


@contextmanager
def forwarding(spaces: Spaces) -> Iterator[None]:
    """Add every router's entries, and let the routers forward packets inside this context. Raises OSError."""
    with ExitStack() as held:
        for node in spaces.network.nodes:
            for version in (4, 6):
                entries = [each for each in node.multicast if ipaddress.ip_address(each.group).version == version]
                if entries:
                    with spaces.inside(node.name) as netlink:
                        held.enter_context(_router(netlink, version, entries))
        yield


def differences(node: Node) -> Iterator[tuple[str, object, object]]:
    """Yield (name, requested value, actual value) for each entry of a router; call it in the router's namespace."""
    for version, file in ((4, "ip_mr"), (6, "ip6_mr")):
        entries = [each for each in node.multicast if ipaddress.ip_address(each.group).version == version]
        if not entries:
            continue
        folder = Path("/proc/thread-self/net")
        rows = [line.split() for line in (folder / f"{file}_vif").read_text().splitlines()[1:]]
        names = {row[0]: row[1] for row in rows}
        found = {}
        for line in (folder / f"{file}_cache").read_text().splitlines()[1:]:
            group, source, inward, _, _, _, *out = line.split()
            leaving = tuple(sorted(names.get(each.split(":")[0], "") for each in out))
            found[_address(group), _address(source)] = names.get(inward), leaving
        for each in entries:
            wanted = each.interface, tuple(sorted(each.out))
            yield f"{node.name}: multicast {each.group}", wanted, found.get((each.group, each.source))


def _router(netlink: Netlink, version: int, entries: list[Forwarding]) -> socket.socket:
    """Return the open socket of a router with these entries."""
    family, level, protocol = {
        4: (socket.AF_INET, socket.IPPROTO_IP, socket.IPPROTO_IGMP),
        6: (socket.AF_INET6, socket.IPPROTO_IPV6, socket.IPPROTO_ICMPV6),
    }[version]
    made = socket.socket(family, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
    try:
        made.setsockopt(level, INIT, 1)
        names = list(dict.fromkeys(name for each in entries for name in (each.interface, *each.out)))
        for number, name in enumerate(names):
            index = device.index(netlink, name)
            if version == 4:
                made.setsockopt(level, ADD_INTERFACE, _VIF.pack(number, BY_INDEX, 1, 0, index, b""))
            else:
                made.setsockopt(level, ADD_INTERFACE, _MIF.pack(number, 0, 1, index, 0))
        for each in entries:
            out = [names.index(name) for name in each.out]
            made.setsockopt(level, ADD_ENTRY, _entry(version, each, names.index(each.interface), out))
    except OSError:
        made.close()
        raise
    return made


def _entry(version: int, each: Forwarding, inward: int, out: list[int]) -> bytes:
    source, group = (ipaddress.ip_address(text).packed for text in (each.source, each.group))
    if version == 4:
        return _MFC.pack(source, group, inward, bytes(1 if number in out else 0 for number in range(MOST_MULTICAST)), 0)
    ends = [_SOCKADDR.pack(socket.AF_INET6, 0, 0, address, 0) for address in (source, group)]
    chosen = sum(1 << number for number in out)
    return b"".join(ends) + struct.pack("=HxxI28x", inward, chosen)


def _address(text: str) -> str:
    """Return an address as the kernel prints it in /proc: IPv4 as a number in the machine's byte order, or IPv6."""
    if ":" in text:
        return str(ipaddress.ip_address(text))
    return str(ipaddress.ip_address(struct.pack("=I", int(text, 16))))
