"""Read back the routes of nodes whose topology declares any, and end a VRF's routing table."""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterator
from typing import Any

from lab.guest.fabric import device
from lab.guest.fabric.netlink import NLM_F_CREATE, Netlink, attribute, attributes, each_attribute
from lab.guest.network import LAST, Node, Route

RTM_GETROUTE = 26
MAIN = 254
_RTMSG = struct.Struct("=8BI")
_NEXTHOP = struct.Struct("=HBBi")

Key = tuple[str, int, int]  # destination, table, metric


def refuse(netlink: Netlink, family: int, table: int) -> None:
    """Let this routing table answer "unreachable" for destinations without a route."""
    boot, unreachable = 3, 7
    body = _RTMSG.pack(family, 0, 0, 0, 0, boot, 0, unreachable, 0) + attribute(6, LAST) + attribute(15, table)
    netlink.do(f"ending the routing table {table}", device.RTM_NEWROUTE, body, NLM_F_CREATE)


def differences(netlink: Netlink, node: Node) -> Iterator[tuple[str, object, object]]:
    """Yield (name, requested value, actual value) for each of the node's routes, if it has declared ones or VRFs."""
    if not node.vrfs and not any(route.declared for route in node.routes):
        return
    names = {state.index: name for name, state in device.links(netlink).items()}
    found = dict(_all(netlink, names))
    for route in node.routes:
        prefix = ipaddress.ip_network(route.to)
        standard = 1024 if route.via else 256  # the kernel's own metrics of IPv6
        metric = route.metric or (standard if prefix.version == 6 else 0)
        where = f"{node.name}: route to {route.to}"
        yield where, _wanted(route), found.get((str(prefix), route.table or MAIN, metric))
    for vrf in node.vrfs:
        for last in ("0.0.0.0/0", "::/0"):
            yield f"{node.name}: the end of the table of VRF {vrf.name}, {last}", True, (last, vrf.table, LAST) in found


def _wanted(route: Route) -> dict[str, Any]:
    hops: list[tuple[str, str | None, int]] = [(hop.interface, hop.via, hop.weight) for hop in route.hops]
    hops = hops or [(route.interface, route.via, 1)]
    return {"hops": sorted(hops, key=str), "metrics": device.route_metrics(route)}


def _all(netlink: Netlink, names: dict[int, str]) -> Iterator[tuple[Key, dict[str, Any]]]:
    for family, length in ((socket.AF_INET, 4), (socket.AF_INET6, 16)):
        request = _RTMSG.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)
        for body in netlink.dump("listing routes", RTM_GETROUTE, request):
            if body[0] != family:
                continue
            given = attributes(body[_RTMSG.size :])
            address = ipaddress.ip_address(given.get(1, bytes(length)).ljust(length, b"\0"))
            key = f"{address}/{body[1]}", _number(given, 15, body[4]), _number(given, 6, 0)
            metrics = {kind: struct.unpack("=I", value)[0] for kind, value in attributes(given.get(8, b"")).items()}
            hops = [*_several(given[9], names)] if 9 in given else [_hop(given, names.get(_number(given, 4, 0)), 1)]
            kept = {kind: metrics[kind] for kind in (2, 8, 11, 14) if kind in metrics}
            yield key, {"hops": sorted(hops, key=str), "metrics": kept}


def _several(data: bytes, names: dict[int, str]) -> Iterator[tuple[str | None, str | None, int]]:
    while len(data) >= _NEXTHOP.size:
        length, _, weight, index = _NEXTHOP.unpack_from(data)
        yield _hop(dict(each_attribute(data[_NEXTHOP.size : length])), names.get(index), weight + 1)
        data = data[length + (-length % 4) :]


def _hop(given: dict[int, bytes], name: str | None, weight: int) -> tuple[str | None, str | None, int]:
    return name, str(ipaddress.ip_address(given[5])) if 5 in given else None, weight


def _number(given: dict[int, bytes], kind: int, default: int) -> int:
    return struct.unpack("=I", given[kind])[0] if kind in given else default
