"""Read back the routes of nodes, and end a VRF's routing table."""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lab.guest.fabric import device
from lab.guest.fabric.netlink import NLM_F_CREATE, Netlink, attribute, attributes, each_attribute
from lab.guest.network import LAST, Interface, Node, Route

RTM_GETROUTE = 26
MAIN, LOCAL = 254, 255
CLONED = 0x200  # RTM_F_CLONED: what the kernel learned about a destination, such as its path's MTU
_RTMSG = struct.Struct("=8BI")
_NEXTHOP = struct.Struct("=HBBi")

Key = tuple[str, int, int]  # destination, table, metric
KernelRoutes = Mapping[Key, list[dict[str, Any]]]  # the kernel's routes: next hops and metrics


def refuse(netlink: Netlink, family: int, table: int) -> None:
    """Let this routing table answer "unreachable" for destinations without a route."""
    boot, unreachable = 3, 7
    body = _RTMSG.pack(family, 0, 0, 0, 0, boot, 0, unreachable, 0) + attribute(6, LAST) + attribute(15, table)
    netlink.do(f"ending the routing table {table}", device.RTM_NEWROUTE, body, NLM_F_CREATE)


def through(node: Node, end: Interface) -> list[Route]:
    """Return a node's routes over one of its interfaces, including the kernel's own routes to the interface's subnets.

    Routes with several next hops are left out.
    """
    own = [route for route in node.routes if route.interface == end.name and not route.hops]
    vrf = node.vrf(end.name)
    taken = {_key(route) for route in own}
    for address in end.addresses:
        subnet = ipaddress.ip_interface(address).network
        route = Route(str(subnet), end.name, None, None, None, table=vrf.table if vrf else 0)
        own_of_each = subnet.version == 6 and subnet.is_link_local  # each interface has a route to this prefix
        if _key(route) not in taken and subnet.prefixlen < subnet.max_prefixlen and not own_of_each:
            own.append(route)
    return own


def differences(
    netlink: Netlink, node: Node, ends: Iterable[Interface], names: Mapping[int, str]
) -> Iterator[tuple[str, object, object]]:
    """Yield (name, requested value, actual value) for each route of a node with these interfaces.

    `names` has the interfaces by number. The kernel's own routes may have initial windows, which a workload's program
    gave them.
    """
    actual = found(netlink, names)
    yield from compared(node.name, node.routes, actual)
    declared = {_key(route) for route in node.routes}
    for route in (route for end in ends for route in through(node, end)):
        if (key := _key(route)) not in declared:
            yield from compared(node.name, [route], {key: [_sized(each) for each in actual.get(key, [])]})
    for vrf in node.vrfs:
        for last in ("0.0.0.0/0", "::/0"):
            where = f"{node.name}: the end of the table of VRF {vrf.name}, {last}"
            yield where, True, (last, vrf.table, LAST) in actual


def _sized(route: Mapping[str, Any]) -> dict[str, Any]:
    """Return a route without its initial windows."""
    sizes = {kind: number for kind, number in route["metrics"].items() if kind in (2, 8)}
    return {"hops": route["hops"], "metrics": sizes}


def compared(node: str, routes: Iterable[Route], actual: KernelRoutes) -> Iterator[tuple[str, object, object]]:
    """Yield (name, requested value, actual value) for each of these routes."""
    for route in routes:
        wanted, there = _wanted(route), actual.get(_key(route), [])
        yield f"{node}: route to {route.to}", wanted, wanted if wanted in there else next(iter(there), None)


def found(netlink: Netlink, names: Mapping[int, str]) -> KernelRoutes:
    """Return the kernel's routes in the namespace, without those to its own addresses. `names` has the interfaces by
    number.
    """
    every: dict[Key, list[dict[str, Any]]] = {}
    for key, route in _all(netlink, names):
        every.setdefault(key, []).append(route)
    return every


def _key(route: Route) -> Key:
    prefix = ipaddress.ip_network(route.to)
    standard = 1024 if route.via else 256  # the kernel's own metrics of IPv6
    return str(prefix), route.table or MAIN, route.metric or (standard if prefix.version == 6 else 0)


def _wanted(route: Route) -> dict[str, Any]:
    hops: list[tuple[str, str | None, int]] = [(hop.interface, hop.via, hop.weight) for hop in route.hops]
    hops = hops or [(route.interface, route.via, 1)]
    return {"hops": sorted(hops, key=str), "metrics": device.route_metrics(route)}


def _all(netlink: Netlink, names: Mapping[int, str]) -> Iterator[tuple[Key, dict[str, Any]]]:
    lengths = {socket.AF_INET: 4, socket.AF_INET6: 16}  # bytes of an address
    for body in netlink.dump("listing routes", RTM_GETROUTE, _RTMSG.pack(0, 0, 0, 0, 0, 0, 0, 0, 0)):
        family, prefix_length, _, _, table, _, _, _, flags = _RTMSG.unpack_from(body)
        if family not in lengths or table == LOCAL or flags & CLONED:
            continue
        given = attributes(body[_RTMSG.size :])
        address = ipaddress.ip_address(given.get(1, bytes(lengths[family])).ljust(lengths[family], b"\0"))
        key = f"{address}/{prefix_length}", _number(given, 15, table), _number(given, 6, 0)
        metrics = attributes(given.get(8, b""))
        hops = [*_several(given[9], names)] if 9 in given else [_hop(given, names.get(_number(given, 4, 0)), 1)]
        kept = {kind: _number(metrics, kind, 0) for kind in (2, 8, 11, 14) if kind in metrics}
        yield key, {"hops": sorted(hops, key=str), "metrics": kept}


def _several(data: bytes, names: Mapping[int, str]) -> Iterator[tuple[str | None, str | None, int]]:
    while len(data) >= _NEXTHOP.size:
        length, _, weight, index = _NEXTHOP.unpack_from(data)
        yield _hop(dict(each_attribute(data[_NEXTHOP.size : length])), names.get(index), weight + 1)
        data = data[length + (-length % 4) :]


def _hop(given: dict[int, bytes], name: str | None, weight: int) -> tuple[str | None, str | None, int]:
    return name, str(ipaddress.ip_address(given[5])) if 5 in given else None, weight


def _number(given: dict[int, bytes], kind: int, default: int) -> int:
    return struct.unpack("=I", given[kind])[0] if kind in given else default
