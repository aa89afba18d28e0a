"""Give interfaces their addresses, and read the addresses back."""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence

from lab.guest.fabric.device import index, packed_address
from lab.guest.fabric.netlink import NLM_F_CREATE, NLM_F_EXCL, Netlink, attribute, attributes
from lab.guest.network import Interface

RTM_NEWADDR, RTM_GETADDR = 20, 22
IFA_F_NODAD = 0x02
IFA_ADDRESS, IFA_LOCAL = 1, 2
_IFADDR = struct.Struct("=BBBBi")  # family, prefix length, flags, scope, index

_Address = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def add(netlink: Netlink, name: str, address: str) -> None:
    """Give the interface `name` an address in CIDR form, for IPv6 without duplicate address detection."""
    family, packed, length = packed_address(address)
    flags = IFA_F_NODAD if family == socket.AF_INET6 else 0
    body = _IFADDR.pack(family, length, flags, 0, index(netlink, name)) + attribute(IFA_ADDRESS, packed)
    body += attribute(IFA_LOCAL, packed)
    netlink.do(f"adding {address} to {name}", RTM_NEWADDR, body, NLM_F_CREATE | NLM_F_EXCL)


def differences(
    netlink: Netlink, ends: Sequence[Interface], names: Mapping[int, str]
) -> Iterator[tuple[str, object, object]]:
    """Yield (name, requested value, actual value) for the addresses of each of a node's interfaces.

    `names` has the interfaces by number. Further addresses, of the kernel or of a workload's program, are left out.
    """
    found: dict[str, list[_Address]] = {}
    for body in netlink.dump("listing addresses", RTM_GETADDR, _IFADDR.pack(0, 0, 0, 0, 0)):
        family, length, _, _, number = _IFADDR.unpack_from(body)
        if family in (socket.AF_INET, socket.AF_INET6):
            given = attributes(body[_IFADDR.size :])
            address = ipaddress.ip_address(given.get(IFA_LOCAL) or given[IFA_ADDRESS])
            found.setdefault(names[number], []).append(ipaddress.ip_interface(f"{address}/{length}"))
    for end in ends:
        wanted = {ipaddress.ip_interface(text) for text in end.addresses}
        actual = {each for each in found.get(end.name, ()) if each in wanted}
        yield f"{end.node}: {end.name} addresses", _words(wanted), _words(actual)


def _words(addresses: set[_Address]) -> str:
    return ", ".join(sorted(map(str, addresses))) or "none"
