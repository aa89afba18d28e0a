"""Hold what the readers of foreign files found: namespaces, their devices, and the parts that were left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.errors import InputError
from lab.ext.importing.queues import QueueTree
from lab.ext.importing.where import Where
from lab.spec.errors import Problem

MOST_DEVICES = 20_000


@dataclass(eq=False)
class Device:
    """Holds a network device of one namespace."""

    space: str
    name: str
    kind: str  # veth, bridge, ifb, given (the file uses it and does not make it), far (its other end), refused, one of
    # `lab.ext.importing.layered`, merged (the device `below` takes its place), or mesh (its clones take its place)
    where: Where
    peer: Device | None = None  # the link's other end
    master: Device | None = None  # the bridge, bond or VRF that it is in
    below: Device | None = None  # of a VLAN: the device that carries it
    number: int = 0  # a VLAN's id, a VXLAN's network identifier, a GRE tunnel's key (0: none), or a VRF's table
    outer: dict[str, str] = field(default_factory=dict)  # of a tunnel: the addresses `local` and `remote`, if given
    options: dict[str, Any] = field(default_factory=dict)  # of a bond, with a topology's keys
    clones: list[Device] = field(default_factory=list)  # of a tunnel with several ends: its end of each pair's tunnel
    mtu: tuple[int, Where] | None = None
    addresses: dict[str, Where] = field(default_factory=dict)
    offloads: dict[str, tuple[bool, Where]] = field(default_factory=dict)
    trees: dict[int, QueueTree] = field(default_factory=dict)  # by the time in ns from which they are in force
    settings: dict[str, tuple[Any, Where]] = field(default_factory=dict)  # of a direction, with a topology's keys
    mirror: Device | None = None  # the ifb that gets what arrives here
    downs: list[tuple[int, int | None, Where]] = field(default_factory=list)  # from, to (None: not up again), in ns


@dataclass(frozen=True)
class FoundHop:
    """Holds a next hop of a route: an address, a device, or both."""

    via: str | None
    device: str
    weight: int = 1


@dataclass(frozen=True)
class FoundRoute:
    """Holds a route that the file adds."""

    destination: str  # with a prefix length; 0.0.0.0/0 and ::/0 are the defaults
    hops: tuple[FoundHop, ...]  # at least one
    where: Where
    metrics: Mapping[str, int] = field(default_factory=dict)  # with a topology's keys; sizes in bytes


@dataclass(frozen=True)
class FoundGroup:
    """Holds a static multicast route of a router."""

    space: str
    came: str  # the device at which the packets arrive
    source: str
    group: str
    out: tuple[str, ...]  # the devices at which they leave
    where: Where


@dataclass(eq=False)
class Space:
    """Holds a namespace: a host, a router, or the namespace of a bridge."""

    name: str
    where: Where
    forwards: bool = False
    sysctls: dict[str, tuple[str, Where]] = field(default_factory=dict)
    routes: list[FoundRoute] = field(default_factory=list)
    about: str = ""  # why it is a host, a router or a bridge, for a comment


@dataclass
class FoundNetwork:
    """Collects a network while files are read, and a problem for everything that was left out."""

    about: str
    root: str = ""  # the namespace in which a script starts; "" if commands run in named ones only
    spaces: dict[str, Space] = field(default_factory=dict)
    devices: dict[tuple[str, str], Device] = field(default_factory=dict)
    groups: list[FoundGroup] = field(default_factory=list)
    group_routes: list[tuple[Where, str]] = field(default_factory=list)  # of hosts, to multicast destinations
    untaken: list[Problem] = field(default_factory=list)
    default_mtu: int | None = None  # of links that do not set one
    are_containers: bool = False  # whether each node has names of its own for the namespaces that it makes

    def leave(self, where: Where, message: str) -> None:
        """Note something that was left out, once."""
        problem = where.says(message)
        if problem not in self.untaken:
            self.untaken.append(problem)

    def space(self, name: str, where: Where) -> Space:
        """Return the namespace with this name, and create it if it is missing."""
        return self.spaces.setdefault(name, Space(name, where))

    def container(self, name: str) -> str | None:
        """Return the node of a container, whose name ends with the node's name, or None."""
        if name in self.spaces:
            return name
        return next((each for each in self.spaces if each and name.endswith(f"-{each}")), None)

    def inside(self, space: str, name: str) -> str:
        """Return the namespace that a command in `space` calls `name`."""
        if not self.are_containers:
            return name
        return f"{space.partition('/')[0]}/{name}" if space else self.container(name) or name

    def device(self, space: str, name: str) -> Device | None:
        """Return the device with this name in a namespace, or None."""
        return self.devices.get((space, name))

    def add(self, device: Device) -> None:
        """Add a device to its namespace. Raises InputError if there are too many."""
        if len(self.devices) >= MOST_DEVICES:
            raise InputError(f"{device.where.file}:{device.where.line}: more than {MOST_DEVICES:,} devices")
        self.space(device.space, device.where)
        self._put(device)

    def join(self, ends: tuple[Device, Device]) -> None:
        """Add both ends of a veth pair."""
        first, second = ends
        first.peer, second.peer = second, first
        self.add(first)
        self.add(second)

    def move(self, device: Device, space: str, name: str) -> None:
        """Move a device to a namespace, or rename it."""
        self.devices.pop((device.space, device.name), None)
        device.space, device.name = space, name
        self._put(device)

    def _put(self, device: Device) -> None:
        """Put a device at its name. It takes the place of a device that a script only used until now."""
        old = self.devices.get((device.space, device.name))
        self.devices[device.space, device.name] = device
        for each in [device, *self.devices.values()] if old is not None and old is not device else ():
            own = None if each is device else device
            each.master = own if each.master is old else each.master
            each.below = own if each.below is old else each.below
            each.peer = None if each.peer is old else each.peer

    def remove(self, device: Device) -> None:
        """Remove a device and its peer."""
        gone = [each for each in (device, device.peer) if each is not None]
        for each in gone:
            self.devices.pop((each.space, each.name), None)
        for each in self.devices.values():
            each.master = None if each.master in gone else each.master
            each.below = None if each.below in gone else each.below

    def kind(self, *kinds: str) -> list[Device]:
        """Return the devices of these kinds, in the order of the file."""
        return [each for each in self.devices.values() if each.kind in kinds]
