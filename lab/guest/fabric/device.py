"""Set up interfaces, routes and qdiscs. Each function creates one object with one netlink request.

Every function takes the Netlink socket of the namespace that it acts in, and raises NetlinkError.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from lab.guest.fabric import qdisc
from lab.guest.fabric.namespace import Namespace
from lab.guest.fabric.netlink import (
    NLM_F_CREATE,
    NLM_F_EXCL,
    NLM_F_REPLACE,
    Netlink,
    Request,
    attribute,
    attributes,
    each_attribute,
)
from lab.guest.network import Hop, Interface, Route
from lab.units import Size

RTM_NEWLINK, RTM_GETLINK = 16, 18
RTM_NEWROUTE = 24
RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC = 36, 37, 38
RTM_NEWTCLASS, RTM_GETTCLASS, RTM_NEWTFILTER, RTM_DELTFILTER, RTM_GETTFILTER = 40, 42, 44, 45, 46

_IFINFO = struct.Struct("=BxHiII")  # family, type, index, flags, change
_RTMSG = struct.Struct("=8BI")  # family, dst_len, src_len, tos, table, protocol, scope, type, flags
_RTNEXTHOP = struct.Struct("=HBBi")  # length, flags, weight - 1, index
_TCMSG = struct.Struct("=BxxxiIII")  # family, index, handle, parent, info

IFF_UP = 0x1
SIOCGIFINDEX = 0x8933
_IFREQ = struct.Struct("=16si20x")
TC_ROOT, TC_INGRESS = 0xFFFFFFFF, 0xFFFFFFF1
TC_INGRESS_HANDLE = 0xFFFF0000
SHAPER, LEAF = 0x10000, 0x10001  # 1: and its class 1:1
TC_HOOKS = {"in": 0xFFFFFFF2, "out": 0xFFFFFFF3}  # of clsact: TC_H_MIN_INGRESS, TC_H_MIN_EGRESS
TCA_BPF_ACT, TCA_BPF_OPS_LEN, TCA_BPF_OPS, TCA_BPF_FD, TCA_BPF_NAME, TCA_BPF_FLAGS, TCA_BPF_ID = 1, 4, 5, 6, 7, 8, 11
TCA_BPF_FLAG_ACT_DIRECT = 1
TCA_MATCHALL_ACT, TCA_ACT_KIND, TCA_ACT_OPTIONS, TCA_ACT_STATS, TCA_STATS_BASIC = 2, 1, 2, 4, 1
TCA_EGRESS_REDIR, TCA_EGRESS_MIRROR = 1, 2
TC_ACT_PIPE, TC_ACT_STOLEN = 3, 4
WITNESS = "lo"  # of the wires' namespace, in which it carries no other traffic
WATCH_PRIORITY, LOSS_PRIORITY, REDIRECT_PRIORITY = 1, 2, 3  # of the filters of a wire, in their order
_SOCK_FILTER = struct.Struct("=HBBI")  # of classic BPF: code, jump if true, jump if false, k
ETH_P_ALL = 3

IFLA_ADDRESS, IFLA_IFNAME, IFLA_MTU, IFLA_MASTER, IFLA_OPERSTATE, IFLA_LINKINFO = 1, 3, 4, 10, 16, 18
IFLA_NET_NS_FD, IFLA_EXT_MASK, IFLA_NUM_TX_QUEUES, IFLA_NUM_RX_QUEUES, IFLA_GSO_MAX_SEGS = 28, 29, 31, 32, 40
RTEXT_FILTER_SKIP_STATS = 8
IFLA_INFO_KIND, IFLA_INFO_DATA = 1, 2
VETH_INFO_PEER = 1
IF_OPER_UP = b"\x06"


class LinkState(msgspec.Struct, frozen=True):
    """Holds the kernel's report about an interface."""

    index: int
    mtu: int
    mac: str
    gso_max_segs: int | None
    running: bool


def links(netlink: Netlink) -> dict[str, LinkState]:
    """Return every interface of the namespace, by name."""
    found = {}
    for body in netlink.dump("listing interfaces", RTM_GETLINK, _IFINFO.pack(0, 0, 0, 0, 0)):
        index = _IFINFO.unpack_from(body)[2]
        given = attributes(body[_IFINFO.size :])
        segments = given.get(IFLA_GSO_MAX_SEGS)
        found[given[IFLA_IFNAME].rstrip(b"\0").decode()] = LinkState(
            index,
            struct.unpack("=I", given[IFLA_MTU])[0],
            given.get(IFLA_ADDRESS, b"").hex(":"),
            struct.unpack("=I", segments)[0] if segments else None,
            given.get(IFLA_OPERSTATE) == IF_OPER_UP,
        )
    return found


def connected(netlink: Netlink) -> Iterator[str]:
    """Yield the namespace's interfaces whose carrier the kernel has noticed.

    In the results of `links`, these interfaces are running, but `links` is slower. A request for a single interface
    would make newer kernels notice its carrier; `notice` uses this.
    """
    body = _IFINFO.pack(0, 0, 0, 0, 0) + attribute(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS)
    for link in netlink.dump("listing interfaces", RTM_GETLINK, body):
        name = b""
        for kind, payload in each_attribute(link[_IFINFO.size :]):  # these come first of some forty attributes
            if kind == IFLA_IFNAME:
                name = payload
            elif kind == IFLA_OPERSTATE:
                if payload == IF_OPER_UP:
                    yield name.rstrip(b"\0").decode()
                break


def notice(netlink: Netlink, name: str) -> None:
    """Make the kernel notice an interface's carrier now (rtnl_getlink in Linux 6.8 or later)."""
    netlink.do(f"asking for {name}", RTM_GETLINK, _IFINFO.pack(0, 0, 0, 0, 0) + attribute(IFLA_IFNAME, name))


def index(netlink: Netlink, name: str) -> int:
    """Return an interface's number without listing all interfaces, of which there may be thousands.

    Raises OSError if there is no such interface.
    """
    return int(_IFREQ.unpack(netlink.ioctl(SIOCGIFINDEX, _IFREQ.pack(name.encode(), 0)))[1])


def veth(netlink: Netlink, name: str, outer: Interface, space: Namespace) -> None:
    """Create a veth pair: `name` here and `outer` in `space`. Each end has one queue, so that frames stay in order."""
    queues = [attribute(IFLA_NUM_TX_QUEUES, 1), attribute(IFLA_NUM_RX_QUEUES, 1)]
    handle = os.open(space.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        peer = [
            attribute(IFLA_IFNAME, outer.name),
            attribute(IFLA_ADDRESS, bytes.fromhex(outer.mac.replace(":", ""))),
            attribute(IFLA_MTU, outer.mtu.bytes),
            attribute(IFLA_NET_NS_FD, handle),
            *queues,
        ]
        if outer.gso_max_segs is not None:
            peer.append(attribute(IFLA_GSO_MAX_SEGS, outer.gso_max_segs))
        data = attribute(VETH_INFO_PEER, _IFINFO.pack(0, 0, 0, 0, 0) + b"".join(peer))
        body = [
            attribute(IFLA_IFNAME, name),
            attribute(IFLA_MTU, outer.mtu.bytes),
            *queues,
            attribute(IFLA_LINKINFO, [attribute(IFLA_INFO_KIND, "veth"), attribute(IFLA_INFO_DATA, data)]),
        ]
        what = f"making {outer.name} of {outer.node}"
        flags = NLM_F_CREATE | NLM_F_EXCL
        netlink.do(what, RTM_NEWLINK, _IFINFO.pack(0, 0, 0, 0, 0) + b"".join(body), flags)
    finally:
        os.close(handle)


def bridge(netlink: Netlink, name: str) -> None:
    """Create a learning bridge without spanning tree, and bring it up."""
    info = attribute(IFLA_LINKINFO, [attribute(IFLA_INFO_KIND, "bridge")])
    body = _IFINFO.pack(0, 0, 0, IFF_UP, IFF_UP) + attribute(IFLA_IFNAME, name) + info
    netlink.do(f"making bridge {name}", RTM_NEWLINK, body, NLM_F_CREATE | NLM_F_EXCL)


def up(netlink: Netlink, name: str) -> None:
    """Bring `name` up."""
    body = _IFINFO.pack(0, 0, 0, IFF_UP, IFF_UP) + attribute(IFLA_IFNAME, name)
    netlink.do(f"bringing {name} up", RTM_NEWLINK, body)


def down(netlink: Netlink, name: str) -> None:
    """Take `name` down."""
    body = _IFINFO.pack(0, 0, 0, 0, IFF_UP) + attribute(IFLA_IFNAME, name)
    netlink.do(f"taking {name} down", RTM_NEWLINK, body)


def create(netlink: Netlink, name: str, kind: str, data: list[bytes], more: list[bytes]) -> None:
    """Create an interface of this kind, with its `data`, and with attributes of the interface in `more`."""
    info = [attribute(IFLA_INFO_KIND, kind), attribute(IFLA_INFO_DATA, data)]
    body = [attribute(IFLA_IFNAME, name), *more, attribute(IFLA_LINKINFO, info)]
    flags = NLM_F_CREATE | NLM_F_EXCL
    netlink.do(f"making {name}, a {kind}", RTM_NEWLINK, _IFINFO.pack(0, 0, 0, 0, 0) + b"".join(body), flags)


def enslave(netlink: Netlink, name: str, master: str) -> None:
    """Turn `name` into a port of the bridge, the bond or the VRF `master`."""
    body = _IFINFO.pack(0, 0, 0, 0, 0) + attribute(IFLA_IFNAME, name) + attribute(IFLA_MASTER, index(netlink, master))
    netlink.do(f"joining {name} to {master}", RTM_NEWLINK, body)


def add_route(netlink: Netlink, route: Route) -> None:
    """Add `route`, or replace the route that the kernel created for the same destination."""
    family, packed, length = packed_address(route.to)
    scope = 0 if route.via else 253  # RT_SCOPE_UNIVERSE, RT_SCOPE_LINK
    main, static, unicast = 254, 4, 1
    body = _RTMSG.pack(family, length, 0, 0, 0 if route.table else main, static, scope, unicast, 0)
    body += attribute(1, packed)  # RTA_DST
    if route.hops:
        body += attribute(9, [_hop(netlink, hop) for hop in route.hops])  # RTA_MULTIPATH
    else:
        body += attribute(4, index(netlink, route.interface))  # RTA_OIF
    if route.metric or (family == socket.AF_INET6 and not route.via):
        body += attribute(6, route.metric or 256)  # RTA_PRIORITY: 256 for the kernel's own on-link route
    if route.via and not route.hops:
        body += attribute(5, packed_address(route.via)[1])  # RTA_GATEWAY
    if route.table:
        body += attribute(15, route.table)  # RTA_TABLE
    if given := [attribute(kind, value) for kind, value in route_metrics(route).items()]:
        body += attribute(8, given)  # RTA_METRICS
    netlink.do(f"routing {route.to} by {route.interface}", RTM_NEWROUTE, body, NLM_F_CREATE | NLM_F_REPLACE)


def route_metrics(route: Route) -> dict[int, int]:
    """Return the metrics that a route has, by their numbers: RTAX_MTU, RTAX_ADVMSS, RTAX_INITCWND, RTAX_INITRWND."""
    sizes = {kind: size.bytes for kind, size in ((2, route.mtu), (8, route.advmss)) if size is not None}
    return sizes | {kind: number for kind, number in ((11, route.initcwnd), (14, route.initrwnd)) if number}


def _hop(netlink: Netlink, hop: Hop) -> bytes:
    gateway = attribute(5, packed_address(hop.via)[1])
    return _RTNEXTHOP.pack(_RTNEXTHOP.size + len(gateway), 0, hop.weight - 1, index(netlink, hop.interface)) + gateway


def pair(netlink: Netlink, name: str, peer: str, mtu: Size) -> None:
    """Create a veth pair with both ends here.

    Each end has one queue, and no IPv6 address for which the kernel sends frames.
    """
    queues = [attribute(IFLA_NUM_TX_QUEUES, 1), attribute(IFLA_NUM_RX_QUEUES, 1)]
    ends = [[attribute(IFLA_IFNAME, each), attribute(IFLA_MTU, mtu.bytes), *queues] for each in (name, peer)]
    data = attribute(VETH_INFO_PEER, _IFINFO.pack(0, 0, 0, 0, 0) + b"".join(ends[1]))
    info = attribute(IFLA_LINKINFO, [attribute(IFLA_INFO_KIND, "veth"), attribute(IFLA_INFO_DATA, data)])
    body = _IFINFO.pack(0, 0, 0, 0, 0) + b"".join([*ends[0], info])
    netlink.do(f"making {name}", RTM_NEWLINK, body, NLM_F_CREATE | NLM_F_EXCL)


def add_qdisc(netlink: Netlink, name: str, what: list[bytes], parent: int = TC_ROOT, handle: int = 0) -> None:
    """Add the qdisc `what` (kind and options) to `name`, as its root or below the class `parent`."""
    body = _TCMSG.pack(0, index(netlink, name), handle, parent, 0) + b"".join(what)
    netlink.do(f"shaping {name}", RTM_NEWQDISC, body, NLM_F_CREATE | NLM_F_EXCL)


def change_qdisc(netlink: Netlink, name: str, what: list[bytes], parent: int = TC_ROOT) -> None:
    """Give the root qdisc of `name`, or the one below the class `parent`, new options, and keep its queue."""
    netlink.do_all([changed_qdisc(netlink, name, what, parent)])


def changed_qdisc(netlink: Netlink, name: str, what: list[bytes], parent: int = TC_ROOT) -> Request:
    """Return the request of `change_qdisc`, for callers that must not spend time on looking up the interface."""
    body = _TCMSG.pack(0, index(netlink, name), 0, parent, 0) + b"".join(what)
    return Request(f"changing {name}", RTM_NEWQDISC, body)


def set_class(netlink: Netlink, name: str, what: list[bytes], new: bool = False) -> None:
    """Create or change the class `LEAF` of the qdisc `SHAPER` of `name`."""
    body = _TCMSG.pack(0, index(netlink, name), LEAF, SHAPER, 0) + b"".join(what)
    netlink.do(f"shaping {name}", RTM_NEWTCLASS, body, NLM_F_CREATE | NLM_F_EXCL if new else 0)


def redirect(netlink: Netlink, source: str, target: str, orphan: bool = False, longest: Size | None = None) -> None:
    """Send every frame that arrives on `source` out through `target`.

    With `orphan`, the frame is dropped here and a copy continues, which does not belong to the sender's socket. Frames
    longer than `longest` are also counted (`overlong`) and copied to a listener on `WITNESS`.
    """
    here, there = index(netlink, source), index(netlink, target)
    ingress = _TCMSG.pack(0, here, TC_INGRESS_HANDLE, TC_INGRESS, 0) + attribute(qdisc.TCA_KIND, "ingress")
    new = NLM_F_CREATE | NLM_F_EXCL
    onward = _mirred(TCA_EGRESS_MIRROR if orphan else TCA_EGRESS_REDIR, TC_ACT_STOLEN, there)
    requests = [Request(f"opening the ingress of {source}", RTM_NEWQDISC, ingress, new)]
    if longest is not None:
        program = _longer_than(longest.bytes)
        shown = _mirred(TCA_EGRESS_MIRROR, TC_ACT_PIPE, index(netlink, WITNESS))
        options = [
            attribute(TCA_BPF_OPS_LEN, struct.pack("=H", len(program) // _SOCK_FILTER.size)),
            attribute(TCA_BPF_OPS, program),
            attribute(TCA_BPF_ACT, [attribute(1, shown), attribute(2, onward)]),
        ]
        body = _ingress_filter(here, WATCH_PRIORITY, "bpf", options)
        requests.append(Request(f"watching the frames of {source}", RTM_NEWTFILTER, body, new))
    body = _ingress_filter(here, REDIRECT_PRIORITY, "matchall", [attribute(TCA_MATCHALL_ACT, [attribute(1, onward)])])
    requests.append(Request(f"redirecting {source} to {target}", RTM_NEWTFILTER, body, new))
    netlink.do_all(requests)


def overlong(netlink: Netlink, source: str) -> int | None:
    """Return the number of segments that arrived on `source` in overlong frames; None if no filter counts them."""
    request = _TCMSG.pack(0, index(netlink, source), 0, TC_INGRESS_HANDLE, WATCH_PRIORITY << 16)
    for body in netlink.dump(f"listing the filters of {source}", RTM_GETTFILTER, request):
        options = attributes(attributes(body[_TCMSG.size :]).get(qdisc.TCA_OPTIONS, b""))
        if TCA_BPF_OPS in options:
            first = attributes(attributes(options[TCA_BPF_ACT])[1])
            _, packets = struct.unpack_from("=QI", attributes(first[TCA_ACT_STATS])[TCA_STATS_BASIC])
            return int(packets)
    return None


def _ingress_filter(here: int, priority: int, kind: str, options: list[bytes]) -> bytes:
    body = _TCMSG.pack(0, here, 0, TC_INGRESS_HANDLE, priority << 16 | socket.htons(ETH_P_ALL))
    return body + attribute(qdisc.TCA_KIND, kind) + attribute(qdisc.TCA_OPTIONS, options)


def _mirred(way: int, then: int, target: int) -> bytes:
    options = struct.pack("=IIiiiiI", 0, 0, then, 0, 0, way, target)
    return attribute(TCA_ACT_KIND, "mirred") + attribute(TCA_ACT_OPTIONS, attribute(2, options))  # TCA_MIRRED_PARMS


def _longer_than(size: int) -> bytes:
    """Return a classic BPF program that matches frames of more than `size` bytes, without a VLAN's inner tag."""
    load_length, load_type, jump_equal, jump_greater, answer = 0x80, 0x28, 0x15, 0x25, 0x06
    return b"".join(
        _SOCK_FILTER.pack(*instruction)
        for instruction in (
            (load_length, 0, 0, 0),
            (jump_greater, 0, 6, size),  # most frames end here
            (load_type, 0, 0, 12),
            (jump_equal, 1, 0, 0x8100),
            (jump_equal, 0, 2, 0x88A8),
            (load_length, 0, 0, 0),
            (jump_greater, 0, 1, size + 4),
            (answer, 0, 0, 0xFFFFFFFF),
            (answer, 0, 0, 0),
        )
    )


def add_program(netlink: Netlink, name: str, way: str, program: int) -> None:
    """Run the BPF program behind the descriptor `program` on each frame that leaves ("out") or enters ("in") `name`."""
    here = index(netlink, name)
    clsact = _TCMSG.pack(0, here, TC_INGRESS_HANDLE, TC_INGRESS, 0) + attribute(qdisc.TCA_KIND, "clsact")
    netlink.do(f"opening the hooks of {name}", RTM_NEWQDISC, clsact, NLM_F_CREATE | NLM_F_EXCL)
    body = _TCMSG.pack(0, here, 0, TC_HOOKS[way], 1 << 16 | socket.htons(ETH_P_ALL))
    body += attribute(qdisc.TCA_KIND, "bpf") + attribute(qdisc.TCA_OPTIONS, _direct(program))
    netlink.do(f"hooking a BPF program to {name}", RTM_NEWTFILTER, body, NLM_F_CREATE | NLM_F_EXCL)


def _direct(program: int) -> list[bytes]:
    return [
        attribute(TCA_BPF_FD, program),
        attribute(TCA_BPF_NAME, "lab"),
        attribute(TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT),
    ]


def add_wire_program(netlink: Netlink, name: str, program: int) -> None:
    """Run the BPF program behind the descriptor `program` on each frame that enters the wire's end `name`.

    The program runs before the frame is redirected, and answers TC_ACT_UNSPEC for each frame that continues.
    """
    body = _ingress_filter(index(netlink, name), LOSS_PRIORITY, "bpf", _direct(program))
    netlink.do(f"hooking a BPF program to {name}", RTM_NEWTFILTER, body, NLM_F_CREATE | NLM_F_EXCL)


def remove_wire_program(netlink: Netlink, name: str) -> None:
    """Undo `add_wire_program`."""
    body = _TCMSG.pack(0, index(netlink, name), 0, TC_INGRESS_HANDLE, LOSS_PRIORITY << 16)
    netlink.do(f"unhooking a BPF program from {name}", RTM_DELTFILTER, body)


def programs(netlink: Netlink, name: str, way: str | None) -> list[int]:
    """Return the ids of the BPF programs that run on `name` in this direction, in the order in which they run.

    None means the programs that a wire's end runs.
    """
    request = _TCMSG.pack(0, index(netlink, name), 0, TC_HOOKS[way] if way else TC_INGRESS_HANDLE, 0)
    filters = netlink.dump(f"listing the programs of {name}", RTM_GETTFILTER, request)
    options = [attributes(attributes(body[_TCMSG.size :]).get(qdisc.TCA_OPTIONS, b"")) for body in filters]
    return [struct.unpack("=I", given[TCA_BPF_ID])[0] for given in options if TCA_BPF_ID in given]


def remove_programs(netlink: Netlink, name: str) -> None:
    """Undo `add_program`."""
    body = _TCMSG.pack(0, index(netlink, name), TC_INGRESS_HANDLE, TC_INGRESS, 0)
    netlink.do(f"closing the hooks of {name}", RTM_DELQDISC, body)


def qdiscs(
    netlink: Netlink, parent: int = TC_ROOT, describe: Callable[[dict[int, bytes]], dict[str, Any]] = qdisc.describe
) -> dict[str, dict[str, Any]]:
    """Return the root qdisc of every interface, or the qdisc below its class `parent`, in the form of `describe`."""
    names = {state.index: name for name, state in links(netlink).items()}
    found = {}
    for body in netlink.dump("listing qdiscs", RTM_GETQDISC, _TCMSG.pack(0, 0, 0, 0, 0)):
        _, number, _, above, _ = _TCMSG.unpack_from(body)
        if above == parent:
            found[names[number]] = describe(attributes(body[_TCMSG.size :]))
    return found


def class_options(netlink: Netlink, name: str) -> bytes:
    """Return the options of the class `LEAF` of `name`; empty if there is no such class."""
    request = _TCMSG.pack(0, index(netlink, name), 0, 0, 0)
    for body in netlink.dump(f"listing the classes of {name}", RTM_GETTCLASS, request):
        if _TCMSG.unpack_from(body)[2] == LEAF:
            return attributes(body[_TCMSG.size :]).get(qdisc.TCA_OPTIONS, b"")
    return b""


def packed_address(address: str) -> tuple[socket.AddressFamily, bytes, int]:
    """Return (family, address bytes, prefix length) of an address with or without a prefix length."""
    text, _, length = address.partition("/")
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    packed = socket.inet_pton(family, text)
    return family, packed, int(length or 8 * len(packed))
