"""Set up interfaces, addresses, routes and qdiscs: one function per thing, each one netlink request.

Every function takes the Netlink socket of the namespace that it acts in and raises NetlinkError.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from lab.fabric import qdisc
from lab.fabric.namespace import Namespace
from lab.fabric.netlink import (
    NLM_F_CREATE,
    NLM_F_EXCL,
    NLM_F_REPLACE,
    Netlink,
    Request,
    attribute,
    attributes,
    each_attribute,
)
from lab.spec.network import Interface, Route
from lab.units import Size

RTM_NEWLINK, RTM_GETLINK = 16, 18
RTM_NEWADDR, RTM_NEWROUTE, RTM_NEWNEIGH = 20, 24, 28
RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC = 36, 37, 38
RTM_NEWTCLASS, RTM_GETTCLASS, RTM_NEWTFILTER, RTM_GETTFILTER = 40, 42, 44, 46

_IFINFO = struct.Struct("=BxHiII")  # family, type, index, flags, change
_IFADDR = struct.Struct("=BBBBi")  # family, prefix length, flags, scope, index
_RTMSG = struct.Struct("=8BI")  # family, dst_len, src_len, tos, table, protocol, scope, type, flags
_NDMSG = struct.Struct("=BxxxiHBB")  # family, index, state, flags, type
_TCMSG = struct.Struct("=BxxxiIII")  # family, index, handle, parent, info

IFF_UP = 0x1
SIOCGIFINDEX = 0x8933
_IFREQ = struct.Struct("=16si20x")
IFA_F_NODAD = 0x02
NUD_PERMANENT = 0x80
TC_ROOT, TC_INGRESS = 0xFFFFFFFF, 0xFFFFFFF1
TC_INGRESS_HANDLE = 0xFFFF0000
SHAPER, LEAF = 0x10000, 0x10001  # 1: and its class 1:1
TC_HOOKS = {"in": 0xFFFFFFF2, "out": 0xFFFFFFF3}  # of clsact: TC_H_MIN_INGRESS, TC_H_MIN_EGRESS
TCA_BPF_FD, TCA_BPF_NAME, TCA_BPF_FLAGS, TCA_BPF_ID = 6, 7, 8, 11
TCA_BPF_FLAG_ACT_DIRECT = 1
ETH_P_ALL = 3

IFLA_ADDRESS, IFLA_IFNAME, IFLA_MTU, IFLA_MASTER, IFLA_OPERSTATE, IFLA_LINKINFO = 1, 3, 4, 10, 16, 18
IFLA_NET_NS_FD, IFLA_EXT_MASK, IFLA_NUM_TX_QUEUES, IFLA_NUM_RX_QUEUES, IFLA_GSO_MAX_SEGS = 28, 29, 31, 32, 40
RTEXT_FILTER_SKIP_STATS = 8
IFLA_INFO_KIND, IFLA_INFO_DATA = 1, 2
VETH_INFO_PEER = 1
IF_OPER_UP = b"\x06"


@dataclass(frozen=True, slots=True)
class LinkState:
    """Holds what the kernel says about an interface."""

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
    """Yield the interfaces of the namespace whose carrier the kernel has noticed: what `links` calls running, quickly.

    Asking for one interface alone would make newer kernels notice it: `notice` does.
    """
    body = _IFINFO.pack(0, 0, 0, 0, 0) + attribute(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS)
    for link in netlink.dump("listing interfaces", RTM_GETLINK, body):
        name = b""
        for kind, payload in each_attribute(link[_IFINFO.size :]):  # some forty, of which these come first
            if kind == IFLA_IFNAME:
                name = payload
            elif kind == IFLA_OPERSTATE:
                if payload == IF_OPER_UP:
                    yield name.rstrip(b"\0").decode()
                break


def notice(netlink: Netlink, name: str) -> None:
    """Make the kernel notice an interface's carrier now (since Linux 6.8: rtnl_getlink); others will in their time."""
    netlink.do(f"asking for {name}", RTM_GETLINK, _IFINFO.pack(0, 0, 0, 0, 0) + attribute(IFLA_IFNAME, name))


def index(netlink: Netlink, name: str) -> int:
    """Return an interface's number without listing all, perhaps thousands. Raises OSError when there is none."""
    return int(_IFREQ.unpack(netlink.ioctl(SIOCGIFINDEX, _IFREQ.pack(name.encode(), 0)))[1])


def veth(netlink: Netlink, name: str, outer: Interface, space: Namespace) -> None:
    """Make a veth pair: `name` here, its peer as `outer` in `space`. Each has one queue, so that order is kept."""
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
    """Make a learning bridge without spanning tree, and bring it up."""
    info = attribute(IFLA_LINKINFO, [attribute(IFLA_INFO_KIND, "bridge")])
    body = _IFINFO.pack(0, 0, 0, IFF_UP, IFF_UP) + attribute(IFLA_IFNAME, name) + info
    netlink.do(f"making bridge {name}", RTM_NEWLINK, body, NLM_F_CREATE | NLM_F_EXCL)


def up(netlink: Netlink, name: str) -> None:
    """Bring `name` up."""
    body = _IFINFO.pack(0, 0, 0, IFF_UP, IFF_UP) + attribute(IFLA_IFNAME, name)
    netlink.do(f"bringing {name} up", RTM_NEWLINK, body)


def enslave(netlink: Netlink, name: str, master: str) -> None:
    """Make `name` a port of the bridge `master`."""
    body = _IFINFO.pack(0, 0, 0, 0, 0) + attribute(IFLA_IFNAME, name) + attribute(IFLA_MASTER, index(netlink, master))
    netlink.do(f"joining {name} to {master}", RTM_NEWLINK, body)


def add_address(netlink: Netlink, name: str, address: str) -> None:
    """Give `name` an address in CIDR form; IPv6 without duplicate address detection."""
    family, packed, length = _packed(address)
    flags = IFA_F_NODAD if family == socket.AF_INET6 else 0
    body = _IFADDR.pack(family, length, flags, 0, index(netlink, name)) + attribute(1, packed)
    body += attribute(2, packed)  # IFA_ADDRESS, IFA_LOCAL
    netlink.do(f"adding {address} to {name}", RTM_NEWADDR, body, NLM_F_CREATE | NLM_F_EXCL)


def add_route(netlink: Netlink, route: Route) -> None:
    """Add `route`, or replace the one that the kernel made for the same destination."""
    family, packed, length = _packed(route.to)
    scope = 0 if route.via else 253  # RT_SCOPE_UNIVERSE, RT_SCOPE_LINK
    table, static, unicast = 254, 4, 1
    body = _RTMSG.pack(family, length, 0, 0, table, static, scope, unicast, 0)
    body += attribute(1, packed) + attribute(4, index(netlink, route.interface))  # RTA_DST, RTA_OIF
    if family == socket.AF_INET6 and not route.via:
        body += attribute(6, 256)  # RTA_PRIORITY of the kernel's own on-link route, which this one replaces
    if route.via:
        body += attribute(5, _packed(route.via)[1])  # RTA_GATEWAY
    metrics = {2: route.mtu, 8: route.advmss}  # RTAX_MTU, RTAX_ADVMSS
    given = [attribute(kind, size.bytes) for kind, size in metrics.items() if size is not None]
    if given:
        body += attribute(8, given)  # RTA_METRICS
    netlink.do(f"routing {route.to} by {route.interface}", RTM_NEWROUTE, body, NLM_F_CREATE | NLM_F_REPLACE)


def add_neighbours(netlink: Netlink, name: str, neighbours: Iterable[tuple[str, str]]) -> None:
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
    """Return (family, NDA_DST and NDA_LLADDR), cached: they are the same in each of n hosts, n x n in all."""
    family, packed, _ = _packed(address)
    return family, attribute(1, packed) + attribute(2, bytes.fromhex(mac.replace(":", "")))


def pair(netlink: Netlink, name: str, peer: str, mtu: Size) -> None:
    """Make a veth pair with both ends here; one queue each, and no address of IPv6's that would speak."""
    queues = [attribute(IFLA_NUM_TX_QUEUES, 1), attribute(IFLA_NUM_RX_QUEUES, 1)]
    ends = [[attribute(IFLA_IFNAME, each), attribute(IFLA_MTU, mtu.bytes), *queues] for each in (name, peer)]
    data = attribute(VETH_INFO_PEER, _IFINFO.pack(0, 0, 0, 0, 0) + b"".join(ends[1]))
    info = attribute(IFLA_LINKINFO, [attribute(IFLA_INFO_KIND, "veth"), attribute(IFLA_INFO_DATA, data)])
    body = _IFINFO.pack(0, 0, 0, 0, 0) + b"".join([*ends[0], info])
    netlink.do(f"making {name}", RTM_NEWLINK, body, NLM_F_CREATE | NLM_F_EXCL)


def add_qdisc(netlink: Netlink, name: str, what: list[bytes], parent: int = TC_ROOT, handle: int = 0) -> None:
    """Make `what` (kind and options) a qdisc of `name`: its root, or below the class `parent`."""
    body = _TCMSG.pack(0, index(netlink, name), handle, parent, 0) + b"".join(what)
    netlink.do(f"shaping {name}", RTM_NEWQDISC, body, NLM_F_CREATE | NLM_F_EXCL)


def change_qdisc(netlink: Netlink, name: str, what: list[bytes]) -> None:
    """Give the root qdisc of `name` other options; what it holds stays."""
    netlink.do_all([changed_qdisc(netlink, name, what)])


def changed_qdisc(netlink: Netlink, name: str, what: list[bytes]) -> Request:
    """Return the request of `change_qdisc`, for where there is no time to look the name up."""
    body = _TCMSG.pack(0, index(netlink, name), 0, TC_ROOT, 0) + b"".join(what)
    return Request(f"changing {name}", RTM_NEWQDISC, body)


def set_class(netlink: Netlink, name: str, what: list[bytes], new: bool = False) -> None:
    """Make, or change, the class `LEAF` of the qdisc `SHAPER` of `name`."""
    body = _TCMSG.pack(0, index(netlink, name), LEAF, SHAPER, 0) + b"".join(what)
    netlink.do(f"shaping {name}", RTM_NEWTCLASS, body, NLM_F_CREATE | NLM_F_EXCL if new else 0)


def redirect(netlink: Netlink, source: str, target: str, orphan: bool = False) -> None:
    """Send every frame that arrives on `source` out by `target`.

    An orphan no longer belongs to its sender's socket: a copy goes on, and the frame itself ends here.
    """
    here = index(netlink, source)
    ingress = _TCMSG.pack(0, here, TC_INGRESS_HANDLE, TC_INGRESS, 0)
    netlink.do(
        f"opening the ingress of {source}",
        RTM_NEWQDISC,
        ingress + attribute(qdisc.TCA_KIND, "ingress"),
        NLM_F_CREATE | NLM_F_EXCL,
    )
    stolen, egress_redirect, egress_mirror = 4, 1, 2  # TC_ACT_STOLEN, TCA_EGRESS_REDIR, TCA_EGRESS_MIRROR
    way = egress_mirror if orphan else egress_redirect
    mirred = struct.pack("=IIiiiiI", 0, 0, stolen, 0, 0, way, index(netlink, target))
    action = [attribute(1, "mirred"), attribute(2, attribute(2, mirred))]  # TCA_ACT_KIND, TCA_ACT_OPTIONS
    options = attribute(2, attribute(1, action))  # TCA_MATCHALL_ACT, first action
    body = _TCMSG.pack(0, here, 0, TC_INGRESS_HANDLE, 1 << 16 | socket.htons(ETH_P_ALL))
    body += attribute(qdisc.TCA_KIND, "matchall") + attribute(qdisc.TCA_OPTIONS, options)
    netlink.do(f"redirecting {source} to {target}", RTM_NEWTFILTER, body, NLM_F_CREATE | NLM_F_EXCL)


def add_program(netlink: Netlink, name: str, way: str, program: int) -> None:
    """Run the BPF program behind the descriptor `program` on every frame that goes "out" by `name`, or comes "in"."""
    here = index(netlink, name)
    clsact = _TCMSG.pack(0, here, TC_INGRESS_HANDLE, TC_INGRESS, 0) + attribute(qdisc.TCA_KIND, "clsact")
    netlink.do(f"opening the hooks of {name}", RTM_NEWQDISC, clsact, NLM_F_CREATE | NLM_F_EXCL)
    options = [
        attribute(TCA_BPF_FD, program),
        attribute(TCA_BPF_NAME, "lab"),
        attribute(TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT),
    ]
    body = _TCMSG.pack(0, here, 0, TC_HOOKS[way], 1 << 16 | socket.htons(ETH_P_ALL))
    body += attribute(qdisc.TCA_KIND, "bpf") + attribute(qdisc.TCA_OPTIONS, options)
    netlink.do(f"hooking a BPF program to {name}", RTM_NEWTFILTER, body, NLM_F_CREATE | NLM_F_EXCL)


def programs(netlink: Netlink, name: str, way: str) -> list[int]:
    """Return the numbers of the BPF programs that run there, first to last."""
    request = _TCMSG.pack(0, index(netlink, name), 0, TC_HOOKS[way], 0)
    filters = netlink.dump(f"listing the programs of {name}", RTM_GETTFILTER, request)
    options = [attributes(attributes(body[_TCMSG.size :]).get(qdisc.TCA_OPTIONS, b"")) for body in filters]
    return [struct.unpack("=I", given[TCA_BPF_ID])[0] for given in options if TCA_BPF_ID in given]


def remove_programs(netlink: Netlink, name: str) -> None:
    """Undo `add_program`."""
    body = _TCMSG.pack(0, index(netlink, name), TC_INGRESS_HANDLE, TC_INGRESS, 0)
    netlink.do(f"closing the hooks of {name}", RTM_DELQDISC, body)


def qdiscs(netlink: Netlink, parent: int = TC_ROOT) -> dict[str, dict[str, Any]]:
    """Return the root qdisc of every interface, or the one below its class `parent`, described."""
    names = {state.index: name for name, state in links(netlink).items()}
    found = {}
    for body in netlink.dump("listing qdiscs", RTM_GETQDISC, _TCMSG.pack(0, 0, 0, 0, 0)):
        _, number, _, above, _ = _TCMSG.unpack_from(body)
        if above == parent:
            found[names[number]] = qdisc.describe(attributes(body[_TCMSG.size :]))
    return found


def class_options(netlink: Netlink, name: str) -> bytes:
    """Return the options of the class `LEAF` of `name`; none when there is no such class."""
    request = _TCMSG.pack(0, index(netlink, name), 0, 0, 0)
    for body in netlink.dump(f"listing the classes of {name}", RTM_GETTCLASS, request):
        if _TCMSG.unpack_from(body)[2] == LEAF:
            return attributes(body[_TCMSG.size :]).get(qdisc.TCA_OPTIONS, b"")
    return b""


def _packed(address: str) -> tuple[socket.AddressFamily, bytes, int]:
    """Return (family, address bytes, prefix length) of an address with or without a length."""
    text, _, length = address.partition("/")
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    packed = socket.inet_pton(family, text)
    return family, packed, int(length or 8 * len(packed))
