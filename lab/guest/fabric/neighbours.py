"""Tell nodes their neighbours' hardware addresses, so that no measurement includes ARP or neighbour discovery."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import cache

from lab.guest.fabric.device import index, packed_address
from lab.guest.fabric.netlink import NLM_F_CREATE, NLM_F_REPLACE, Netlink, Request, attribute

RTM_NEWNEIGH, RTM_GETNEIGH = 28, 30
NUD_PERMANENT = 0x80
_NDMSG = struct.Struct("=BxxxiHBB")  # family, index, state, flags, type


def add(netlink: Netlink, name: str, neighbours: Iterable[tuple[str, str]]) -> None:
    """Add permanent neighbour entries, each (address, MAC)."""
    number, flags = index(netlink, name), NLM_F_CREATE | NLM_F_REPLACE
    requests = []
    for address, mac in neighbours:
        family, named = _neighbour(address, mac)
        body = _NDMSG.pack(family, number, NUD_PERMANENT, 0, 0) + named
        requests.append(Request(f"naming neighbour {address} on {name}", RTM_NEWNEIGH, body, flags))
    netlink.do_all(requests)


@cache
def _neighbour(address: str, mac: str) -> tuple[int, bytes]:
    """Return (family, NDA_DST and NDA_LLADDR). The results are cached, because n hosts use the same entries n x n
    times.
    """
    family, packed, _ = packed_address(address)
    return family, attribute(1, packed) + attribute(2, bytes.fromhex(mac.replace(":", "")))


def known(netlink: Netlink) -> int:
    """Return the number of permanent neighbour entries in the namespace."""
    entries = netlink.dump("listing neighbours", RTM_GETNEIGH, _NDMSG.pack(0, 0, 0, 0, 0))
    return sum(_NDMSG.unpack_from(entry)[2] == NUD_PERMANENT for entry in entries)
