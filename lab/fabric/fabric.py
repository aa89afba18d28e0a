"""A network made of namespaces and veth pairs, with its wires in a namespace of their own.

A wire's two inner ends meet there: what arrives on one is redirected to the other, through its netem. Offloads are
off on all four ends unless the link says otherwise, so what enters the wire is frames, not super-packets.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab.errors import LabError
from lab.fabric import device, offload, qdisc
from lab.fabric.namespace import Namespace
from lab.fabric.netlink import Netlink
from lab.spec.network import Direction, Interface, Kind, Link, Network, Node, Offloads, Shaper

WIRES = "wires"
SETTLE_SECONDS = 10


class FabricError(LabError):
    """The kernel refused a setting, or the network was built and did not come alive."""


class Fabric:
    """The network, up while the context lasts. `prefix` keeps two fabrics on one kernel apart.

    Raises NetlinkError, NamespaceError, FabricError or OSError when the kernel cannot build it; what was built is
    undone then, last in first out.
    """

    def __init__(self, network: Network, prefix: str = "") -> None:
        self.network = network
        self._prefix = prefix
        self._undo = ExitStack()
        self._netlink: dict[str, Netlink] = {}

    def namespace(self, node: str) -> Namespace:
        """Where `node` lives."""
        return Namespace(self._prefix + node)

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self._undo = undo
            self._build()
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def _build(self) -> None:
        for name in (*(node.name for node in self.network.nodes), WIRES):
            space = Namespace.create(self._prefix + name)
            self._undo.callback(space.remove)
            with space.entered():
                self._netlink[name] = self._undo.enter_context(Netlink())
        for node in self.network.nodes:
            self._prepare(node)
        for number, link in enumerate(self.network.links):
            self._connect(number, link)
        for node in self.network.nodes:
            self._finish(node)
        self._settle()

    def _prepare(self, node: Node) -> None:
        """The node's own sysctls first: some are the defaults of what is to come."""
        own = {end.name for end in self.network.interfaces(node.name)}
        with self.namespace(node.name).entered():
            _set({name: value for name, value in node.sysctls.items() if _interface_of(name) not in own})
        device.up(self._netlink[node.name], "lo")
        if node.kind is Kind.SWITCH:
            device.bridge(self._netlink[node.name], node.name)

    def _connect(self, number: int, link: Link) -> None:
        """Two veth pairs, end to end through the wires' namespace."""
        wires = self._netlink[WIRES]
        inner = tuple(wire_end(number, side) for side in (0, 1))
        for end, name in zip(link.ends, inner, strict=True):
            device.veth(wires, name, end, self.namespace(end.node))
            with Namespace(self._prefix + WIRES).entered():
                offload.write(name, Offloads())
            self._configure(end)
        for side, (sender, direction, _) in enumerate(link.directions()):
            device.redirect(wires, inner[side], inner[1 - side])
            device.add_qdisc(wires, inner[1 - side], qdisc.netem(direction))
            if nic := _nic(direction):
                device.add_qdisc(self._netlink[sender.node], sender.name, qdisc.tbf(*nic))
        for name in inner:
            device.up(wires, name)

    def _configure(self, end: Interface) -> None:
        netlink = self._netlink[end.node]
        sysctls = self.network.node(end.node).sysctls
        with self.namespace(end.node).entered():
            _set({name: value for name, value in sysctls.items() if _interface_of(name) == end.name})
            offload.write(end.name, end.offloads)
        if end.gro_flush_timeout:
            with self.namespace(end.node).sysfs() as sysfs:
                for name, value in _coalescing(end).items():
                    (sysfs / "class" / "net" / end.name / name).write_text(value)
        if self.network.node(end.node).kind is Kind.SWITCH:
            device.enslave(netlink, end.name, end.node)
        device.up(netlink, end.name)
        for address in end.addresses:
            device.add_address(netlink, end.name, address)

    def _finish(self, node: Node) -> None:
        """Routes, and the neighbours' hardware addresses, so that ARP never takes part in a measurement."""
        netlink = self._netlink[node.name]
        for route in node.routes:
            device.add_route(netlink, route)
        for interface, other in self._neighbours(node):
            for address in other.addresses:
                device.add_neighbour(netlink, interface.name, address, other.mac)

    def _settle(self) -> None:
        """Until every carrier is noticed: the kernel does so lazily, and loses frames before."""
        deadline = time.monotonic() + SETTLE_SECONDS
        for link in self.network.links:
            for end in link.ends:
                while not device.links(self._netlink[end.node])[end.name].running:
                    if time.monotonic() > deadline:
                        raise FabricError(f"{end.name} of {end.node} has no carrier after {SETTLE_SECONDS} s")
                    time.sleep(0.01)

    def _neighbours(self, node: Node) -> Iterator[tuple[Interface, Interface]]:
        """(own interface, another's) for every pair that shares a subnet."""
        everyone = [end for link in self.network.links for end in link.ends if end.node != node.name]
        for interface in self.network.interfaces(node.name):
            subnets = {ipaddress.ip_interface(address).network for address in interface.addresses}
            for other in everyone:
                if subnets & {ipaddress.ip_interface(address).network for address in other.addresses}:
                    yield interface, other

    def qdiscs(self) -> list[dict[str, Any]]:
        """Every qdisc that shapes, with its counters, wires first (see `qdisc.describe` for the fields)."""
        found = []
        by_end = device.qdiscs(self._netlink[WIRES])
        for number, link in enumerate(self.network.links):
            for side, name in enumerate(("forward", "back")):
                end = wire_end(number, 1 - side)
                found.append({"node": link.name, "interface": end, "direction": name, **by_end[end]})
        for node in self.network.nodes:
            for interface, plain in device.qdiscs(self._netlink[node.name]).items():
                if plain["kind"] != "noqueue":
                    found.append({"node": node.name, "interface": interface, "direction": "out", **plain})
        return found

    def differences(self) -> list[str]:
        """What the kernel says it does and the network does not ask for; empty when the fabric is exact."""
        found: list[str] = []

        def expect(what: str, wanted: object, actual: object) -> None:
            if wanted != actual:
                found.append(f"{what} is {actual}, not {wanted}")

        for node in self.network.nodes:
            with self.namespace(node.name).entered():
                for name, value in node.sysctls.items():
                    expect(f"{node.name}: {name}", value.split(), _sysctl(name).read_text().split())
                for end in self.network.interfaces(node.name):
                    where = f"{node.name}: {end.name}"
                    expect(f"{where} offloads", end.offloads, offload.read(end.name))
            for end in self.network.interfaces(node.name):
                if end.gro_flush_timeout:
                    with self.namespace(node.name).sysfs() as sysfs:
                        for name, value in _coalescing(end).items():
                            actual = (sysfs / "class" / "net" / end.name / name).read_text().strip()
                            expect(f"{node.name}: {end.name} {name}", value, actual)
            links = device.links(self._netlink[node.name])
            for end in self.network.interfaces(node.name):
                expect(f"{node.name}: {end.name} MTU", end.mtu.bytes, links[end.name].mtu)
                expect(f"{node.name}: {end.name} MAC", end.mac, links[end.name].mac)
                if end.gso_max_segs is not None:
                    expect(f"{node.name}: {end.name} gso_max_segs", end.gso_max_segs, links[end.name].gso_max_segs)
        self._expect_wires(expect)
        return found

    def _expect_wires(self, expect: Any) -> None:
        found = {(each["node"], each["interface"]): each for each in self.qdiscs()}
        for number, link in enumerate(self.network.links):
            for side, (sender, direction, _) in enumerate(link.directions()):
                end = wire_end(number, 1 - side)
                where = f"link {link.name}, {('forward', 'back')[side]}"
                actual = found[link.name, end]
                for key, wanted in qdisc.netem_wanted(direction).items():
                    expect(f"{where}: {key}", wanted, actual["options"].get(key))
                with Namespace(self._prefix + WIRES).entered():
                    expect(f"{where}: the wire's offloads", Offloads(), offload.read(end))
                if nic := _nic(direction):
                    actual = found.get((sender.node, sender.name), {"options": {}})
                    for key, wanted in qdisc.tbf_wanted(*nic).items():
                        expect(f"{where}: NIC {key}", wanted, actual["options"].get(key))


def wire_end(number: int, side: int) -> str:
    """The name of a wire's inner end: side 0 faces the link's first interface."""
    return f"w{number}{'ab'[side]}"


def _nic(direction: Direction) -> tuple[Any, Any, int] | None:
    if direction.shaper is Shaper.NIC and direction.rate:
        return direction.rate, direction.mtu, direction.limit
    return None


def _sysctl(name: str) -> Path:
    return Path("/proc/sys") / name.replace(".", "/")


def _set(sysctls: dict[str, str]) -> None:
    """Write them in the caller's namespace. Raises FabricError that names the one the kernel refuses."""
    for name, value in sysctls.items():
        try:
            _sysctl(name).write_text(value)
        except OSError as error:
            raise FabricError(f"sysctl {name} = {value}: {error.strerror}") from None


def _interface_of(name: str) -> str | None:
    """The interface in a name like net.ipv6.conf.eth0.accept_dad."""
    parts = name.split(".")
    return parts[3] if len(parts) == 5 and parts[2] in ("conf", "neigh") else None


def _coalescing(end: Interface) -> dict[str, str]:
    """The files below an interface's sysfs folder that set it, and their content."""
    return {
        "gro_flush_timeout": str(end.gro_flush_timeout.ns),
        "napi_defer_hard_irqs": str(end.napi_defer_hard_irqs),
    }
