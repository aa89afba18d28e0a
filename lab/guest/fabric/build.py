"""Build a network from existing namespaces, step by step. Removing the namespaces undoes every step.

Call `prepare` for each node, `connect` for its links with the socket of `wiring`, `carry` once, `finish` for each node,
and then `settle` once. Every step raises NetlinkError, NamespaceError, FabricError or OSError if the kernel refuses a
request.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.errors import LabError
from lab.guest.fabric import addresses, device, neighbours, offload, overlay, qdisc, stage, wire
from lab.guest.fabric.netlink import Netlink
from lab.guest.fabric.shaper import ETHERNET_HEADER
from lab.guest.fabric.spaces import WIRES, Spaces
from lab.guest.network import WAYS, Direction, Interface, Kind, Link, Node, Offloads, Shaper
from lab.units import Rate, Size

SETTLE_SECONDS = 10
SYSCTL_BYTES = 8192  # more than a sysctl's value has
_DOTS_AND_SLASHES = str.maketrans("./", "/.")
NOTICED = 100  # carriers per second that the kernel notices: MAX_DO_DEV_WORK of net/core/link_watch.c

# For nodes that only pass frames on. Otherwise they would look for IPv6 neighbours, routers and listeners in the middle
# of a trial, and those frames would share the wires' queues with the hosts' frames.
SILENT = {"net.ipv6.conf.default.disable_ipv6": "1"}

# For hosts and routers. IPv6 repeats its listener reports after random parts of this time, in ms. With the default of a
# second, the reports met the traffic. A kernel rounds the time up to its tick, so it is not read back.
AT_ONCE = {"net.ipv6.conf.default.mldv2_unsolicited_report_interval": "1"}


class FabricError(LabError):
    """Raised if the kernel refuses a setting, or if the network was built but its links have no carrier."""


def prepare(spaces: Spaces, node: Node) -> None:
    """Set the node's sysctls, then bring up lo and the bridge. Later interfaces inherit some of the sysctls."""
    own = {end.name for end in (*spaces.interfaces[node.name], *spaces.carried[node.name])}
    with spaces.inside(node.name) as netlink:
        _set({**AT_ONCE, **{name: value for name, value in node.sysctls.items() if _interface_of(name) not in own}})
        if node.kind is Kind.SWITCH:
            _set(SILENT)
        device.up(netlink, "lo")
        if node.kind is Kind.SWITCH:
            device.bridge(netlink, _bridge(node))
        for vrf in node.vrfs:
            overlay.build_vrf(netlink, vrf)


@contextmanager
def wiring(spaces: Spaces) -> Iterator[Netlink]:
    """Yield a socket in the wires' namespace, after settings that keep its kernel from sending frames of its own."""
    with spaces.of(WIRES).entered():
        _set({**SILENT, f"net.ipv6.conf.{device.WITNESS}.disable_ipv6": "1"})
        wires = Netlink()
    with wires:
        yield wires


def connect(spaces: Spaces, wires: Netlink, number: int, link: Link) -> None:
    """Create two veth pairs, joined through the wires' namespace. `number` is the link's number, from 0."""
    inner = tuple(wire_end(number, side) for side in (0, 1))
    for end, name in zip(link.ends, inner, strict=True):
        device.veth(wires, name, end, spaces.of(end.node))
        offload.write(wires, name, Offloads())
    for end in link.ends:
        with spaces.inside(end.node) as netlink:
            _configure(spaces, netlink, end)
    for side, (sender, direction, _) in enumerate(link.directions()):
        longest = longest_frame(sender, direction)
        if direction.queue:
            stage.insert(wires, number, side, link.name, direction, inner[1 - side])
            device.redirect(wires, inner[side], stage.ends(number, side)[0], orphan=True, longest=longest)
        else:
            device.redirect(wires, inner[side], inner[1 - side], longest=longest)
        wire.insert(wires, inner[1 - side], direction, (spaces.seed, link.name, WAYS[side]))
        if card := nic(direction):
            with spaces.inside(sender.node) as netlink:
                device.add_qdisc(netlink, sender.name, qdisc.tbf(*card))
    for name in inner:
        device.up(wires, name)


def carry(spaces: Spaces) -> None:
    """Build the links that other links carry."""
    for each in spaces.network.overlays:
        overlay.build(spaces, each)
        for end in each.ends:
            with spaces.inside(end.node) as netlink:
                _configure(spaces, netlink, end)


def finish(spaces: Spaces, node: Node) -> None:
    """Add routes, and the neighbours' hardware addresses, so that no measurement includes ARP packets."""
    with spaces.inside(node.name) as netlink:
        for route in node.routes:
            device.add_route(netlink, route)
        for end in (*spaces.interfaces[node.name], *spaces.carried[node.name]):
            neighbours.add(netlink, end.name, spaces.neighbours(end))


def settle(spaces: Spaces) -> None:
    """Wait until the kernel has noticed every carrier. The kernel checks only once a second, and drops frames until
    then.
    """
    inner = [wire_end(number, side) for number in range(len(spaces.network.links)) for side in (0, 1)]
    inner += [end for number, side, _, _ in stage.staged(spaces.network) for end in stage.ends(number, side)]
    outer = {node: [end.name for end in ends] for node, ends in spaces.interfaces.items()}
    seconds = SETTLE_SECONDS + 2 * len(inner) // NOTICED
    deadline = time.monotonic() + seconds
    for node, ends in {**outer, WIRES: inner}.items():
        with spaces.inside(node) as netlink:
            for name in ends if spaces.hurried else ():
                device.notice(netlink, name)
            while late := set(ends).difference(device.connected(netlink)):
                if time.monotonic() > deadline:
                    raise FabricError(f"{min(late)} of {node} has no carrier after {seconds} s")
                time.sleep(0.01)
    for each in spaces.network.overlays:
        for end in each.ends:
            with spaces.inside(end.node) as netlink:
                while not overlay.is_ready(netlink, each, end):
                    if time.monotonic() > deadline:
                        raise FabricError(f"{end.name} of {end.node} carries nothing after {seconds} s")
                    time.sleep(0.01)


def wire_end(number: int, side: int) -> str:
    """Return the name of a wire's inner end. Side 0 faces the link's first interface."""
    return f"w{number}{'ab'[side]}"


def longest_frame(sender: Interface, direction: Direction) -> Size | None:
    """Return the length of the longest frame that may enter a wire, with a packet as long as the wire's MTU.

    None means no limit, because the sending end may leave segments in super-packets (its `tso` or `gso` is on).
    """
    if sender.offloads.tso or sender.offloads.gso:
        return None
    return Size(direction.mtu.bytes + ETHERNET_HEADER.bytes)


def nic(direction: Direction) -> tuple[Rate, Size, int] | None:
    """Return (rate, MTU, limit) of the network card that shapes this direction, or None if there is no such card."""
    if direction.shaper is Shaper.NIC and direction.rate:
        return direction.rate, direction.mtu, direction.limit
    return None


def sysctl(name: str) -> str:
    """Return the path of a sysctl's file. The file shows the value in the caller's namespace.

    As in sysctl(8), a '/' in the name is a dot of an interface's name, such as eth0/10.
    """
    return f"/proc/sys/{name.translate(_DOTS_AND_SLASHES)}"


def read_sysctl(name: str) -> str:
    """Return a sysctl's value in the caller's namespace. Raises OSError if the kernel has no such sysctl.

    A file object would make five more system calls, and a trial reads some sixty sysctls.
    """
    handle = os.open(sysctl(name), os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(handle, SYSCTL_BYTES).decode()
    finally:
        os.close(handle)


def write_sysctl(name: str, value: str) -> None:
    """Set a sysctl in the caller's namespace. Raises OSError if the kernel refuses the value."""
    handle = os.open(sysctl(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        os.write(handle, value.encode())
    finally:
        os.close(handle)


def coalescing(end: Interface) -> dict[str, str]:
    """Return the contents of the sysfs files that set an interface's coalescing, by file; empty without coalescing."""
    if not end.gro_flush_timeout:
        return {}
    return {
        "gro_flush_timeout": str(end.gro_flush_timeout.ns),
        "napi_defer_hard_irqs": str(end.napi_defer_hard_irqs),
    }


def _bridge(node: Node) -> str:
    """Return a switch's name, cut to the maximum length of an interface name (IFNAMSIZ)."""
    return node.name[:15]


def _configure(spaces: Spaces, netlink: Netlink, end: Interface) -> None:
    node = spaces.nodes[end.node]
    _set({name: value for name, value in node.sysctls.items() if _interface_of(name) == end.name})
    offload.write(netlink, end.name, end.offloads)
    if wanted := coalescing(end):
        with spaces.of(end.node).sysfs() as sysfs:
            for name, value in wanted.items():
                (sysfs / "class" / "net" / end.name / name).write_text(value)
    if node.kind is Kind.SWITCH:
        device.enslave(netlink, end.name, _bridge(node))
    if vrf := node.vrf(end.name):
        device.enslave(netlink, end.name, vrf.name)
    device.up(netlink, end.name)
    for address in end.addresses:
        addresses.add(netlink, end.name, address)


def _set(sysctls: dict[str, str]) -> None:
    """Write sysctls in the caller's namespace. Raises FabricError, which names the sysctl that the kernel refuses."""
    for name, value in sysctls.items():
        try:
            write_sysctl(name, value)
        except OSError as error:
            raise FabricError(f"sysctl {name} = {value}: {error.strerror}") from None


def _interface_of(name: str) -> str | None:
    """Return the interface in a sysctl name like net.ipv6.conf.eth0.accept_dad, or None if the name has no
    interface.
    """
    parts = name.split(".")
    return parts[3].replace("/", ".") if len(parts) == 5 and parts[2] in ("conf", "neigh") else None
