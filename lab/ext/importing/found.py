"""Hold what the readers of foreign files found: namespaces, their devices, and the parts that were left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    kind: str  # veth, bridge, ifb, given (the file uses it and does not make it), far (its other end), or refused
    where: Where
    peer: Device | None = None  # of a veth
    master: Device | None = None  # the bridge of a port
    mtu: tuple[int, Where] | None = None
    addresses: dict[str, Where] = field(default_factory=dict)
    offloads: dict[str, tuple[bool, Where]] = field(default_factory=dict)
    trees: dict[int, QueueTree] = field(default_factory=dict)  # by the time in ns from which they are in force
    settings: dict[str, tuple[Any, Where]] = field(default_factory=dict)  # of a direction, with a topology's keys
    mirror: Device | None = None  # the ifb that gets what arrives here
    downs: list[tuple[int, int | None, Where]] = field(default_factory=list)  # from, to (None: not up again), in ns


@dataclass(frozen=True)
class FoundRoute:
    """Holds a route that the file adds."""

    destination: str  # with a prefix length; 0.0.0.0/0 and ::/0 are the defaults
    via: str | None
    where: Where
    hops: Mapping[str, int] = field(default_factory=dict)  # several next hops -> their weights
    metrics: Mapping[str, int] = field(default_factory=dict)  # with a topology's keys; sizes in bytes


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
    untaken: list[Problem] = field(default_factory=list)
    default_mtu: int | None = None  # of links that do not set one

    def leave(self, where: Where, message: str) -> None:
        """Note something that was left out, once."""
        problem = where.says(message)
        if problem not in self.untaken:
            self.untaken.append(problem)

    def space(self, name: str, where: Where) -> Space:
        """Return the namespace with this name, and create it if it is missing."""
        return self.spaces.setdefault(name, Space(name, where))

    def device(self, space: str, name: str) -> Device | None:
        """Return the device with this name in a namespace, or None."""
        return self.devices.get((space, name))

    def add(self, device: Device) -> None:
        """Add a device to its namespace. Raises InputError if there are too many."""
        if len(self.devices) >= MOST_DEVICES:
            raise InputError(f"{device.where.file}:{device.where.line}: more than {MOST_DEVICES:,} devices")
        self.space(device.space, device.where)
        self.devices[device.space, device.name] = device

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
        self.devices[space, name] = device

    def remove(self, device: Device) -> None:
        """Remove a device and its peer."""
        for each in filter(None, (device, device.peer)):
            self.devices.pop((each.space, each.name), None)

    def ports(self, bridge: Device) -> Iterator[Device]:
        """Yield the ports of a bridge."""
        yield from (each for each in self.devices.values() if each.master is bridge)
