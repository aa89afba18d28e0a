"""Turn namespaces into a network, step by step, whoever made them. Removing the namespaces undoes every step.

`prepare` a node, `connect` its links by the socket of `wiring`, `finish` it and, when all are finished, `settle`.
Every step raises NetlinkError, NamespaceError, FabricError or OSError when the kernel refuses.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.errors import LabError
from lab.fabric import device, offload, qdisc, stage
from lab.fabric.netlink import Netlink
from lab.fabric.spaces import WIRES, Spaces
from lab.spec.network import WAYS, Direction, Interface, Kind, Link, Node, Offloads, Shaper
from lab.units import Rate, Size

SETTLE_SECONDS = 10
NOTICED = 100  # carriers per second that the kernel notices: MAX_DO_DEV_WORK of net/core/link_watch.c

# Of what only passes frames on. It would look for IPv6 neighbours, routers and listeners by itself, in the middle of a
# trial, and its frames would wait in the wires' queues with those of the hosts.
SILENT = {"net.ipv6.conf.default.disable_ipv6": "1"}


class FabricError(LabError):
    """Raised when the kernel refuses a setting, or the network was built but did not come alive."""


def prepare(spaces: Spaces, node: Node) -> None:
    """Set the node's own sysctls first, since some are the defaults of what is to come; then bring lo and bridge up."""
    own = {end.name for end in spaces.interfaces[node.name]}
    with spaces.inside(node.name) as netlink:
        _set({name: value for name, value in node.sysctls.items() if _interface_of(name) not in own})
        if node.kind is Kind.SWITCH:
            _set(SILENT)
        device.up(netlink, "lo")
        if node.kind is Kind.SWITCH:
            device.bridge(netlink, _bridge(node))


@contextmanager
def wiring(spaces: Spaces) -> Iterator[Netlink]:
    """Yield a socket in the wires' namespace, which is made silent first."""
    with spaces.of(WIRES).entered():
        _set(SILENT)
        wires = Netlink()
    with wires:
        yield wires


def connect(spaces: Spaces, wires: Netlink, number: int, link: Link) -> None:
    """Make two veth pairs, end to end through the wires' namespace; `number` is the link's, from 0."""
    inner = tuple(wire_end(number, side) for side in (0, 1))
    for end, name in zip(link.ends, inner, strict=True):
        device.veth(wires, name, end, spaces.of(end.node))
        offload.write(wires, name, Offloads())
    for end in link.ends:
        with spaces.inside(end.node) as netlink:
            _configure(spaces, netlink, end)
    for side, (sender, direction, _) in enumerate(link.directions()):
        if direction.queue:
            stage.insert(wires, number, side, link.name, direction, inner[side], inner[1 - side])
        else:
            device.redirect(wires, inner[side], inner[1 - side])
        seed = qdisc.prng_seed(spaces.seed, link.name, WAYS[side])
        device.add_qdisc(wires, inner[1 - side], qdisc.netem(direction, seed))
        if card := nic(direction):
            with spaces.inside(sender.node) as netlink:
                device.add_qdisc(netlink, sender.name, qdisc.tbf(*card))
    for name in inner:
        device.up(wires, name)


def finish(spaces: Spaces, node: Node) -> None:
    """Add routes, and the neighbours' hardware addresses, so that ARP never takes part in a measurement."""
    with spaces.inside(node.name) as netlink:
        for route in node.routes:
            device.add_route(netlink, route)
        for end in spaces.interfaces[node.name]:
            device.add_neighbours(netlink, end.name, spaces.neighbours(end))


def settle(spaces: Spaces) -> None:
    """Wait until the kernel has noticed every carrier: it does so lazily, once a second, and loses frames before."""
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


def wire_end(number: int, side: int) -> str:
    """Return the name of a wire's inner end: side 0 faces the link's first interface."""
    return f"w{number}{'ab'[side]}"


def nic(direction: Direction) -> tuple[Rate, Size, int] | None:
    """Return (rate, MTU, limit) of the network card that shapes this direction, or None."""
    if direction.shaper is Shaper.NIC and direction.rate:
        return direction.rate, direction.mtu, direction.limit
    return None


def sysctl(name: str) -> Path:
    """Return a sysctl's file, which shows the namespace that the caller is in."""
    return Path("/proc/sys") / name.replace(".", "/")


def coalescing(end: Interface) -> dict[str, str]:
    """Return the files in an interface's sysfs folder that set coalescing, with their content; none when it is off."""
    if not end.gro_flush_timeout:
        return {}
    return {
        "gro_flush_timeout": str(end.gro_flush_timeout.ns),
        "napi_defer_hard_irqs": str(end.napi_defer_hard_irqs),
    }


def _bridge(node: Node) -> str:
    """Return a switch's name, cut to the length of an interface's (IFNAMSIZ)."""
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
    device.up(netlink, end.name)
    for address in end.addresses:
        device.add_address(netlink, end.name, address)


def _set(sysctls: dict[str, str]) -> None:
    """Write sysctls in the caller's namespace. Raises FabricError, which names the one that the kernel refuses."""
    for name, value in sysctls.items():
        try:
            sysctl(name).write_text(value)
        except OSError as error:
            raise FabricError(f"sysctl {name} = {value}: {error.strerror}") from None


def _interface_of(name: str) -> str | None:
    """Return the interface in a name like net.ipv6.conf.eth0.accept_dad, or None."""
    parts = name.split(".")
    return parts[3] if len(parts) == 5 and parts[2] in ("conf", "neigh") else None
