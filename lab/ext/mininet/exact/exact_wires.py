"""Build the lab's wires one by one, between namespaces that Mininet made, and change them while a script runs.

Each wire is as `lab.guest.fabric` builds it: in a namespace of its own, with a queue stage in front of each direction
that has a rate. Every method raises NetlinkError, NamespaceError or OSError if the kernel refuses a request.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.errors import LabError
from lab.guest.fabric import build, device, offload, qdisc, shaper, stage
from lab.guest.fabric.namespace import Namespace, NamespaceError
from lab.guest.fabric.netlink import Netlink, attribute
from lab.guest.fabric.spaces import WIRES, Spaces
from lab.guest.network import WAYS, Direction, Interface, Kind, Network, Node, Offloads
from lab.units import Size

if TYPE_CHECKING:
    from lab.ext.mininet.exact.exact_link import FRAME, direction_of
else:  # in a guest, the files are in one folder
    from exact_link import FRAME, direction_of

EXACT = Path("/run/exact")  # a folder for each wire's number, and files that `exact_start` explains
RTM_DELLINK = 17
MTU = Size(1500)
_IFINFO = struct.Struct("=BxHiII")  # as in `device`: family, type, index, flags, change
_TCMSG = struct.Struct("=BxxxiIII")  # family, index, handle, parent, info
NOTHING = Network("exact", (Node("none", Kind.HOST, {}, ()),), ())


class ProcessNamespace(Namespace, frozen=True):
    """Represents the namespace of a process, whose id is the name."""

    @property
    def path(self) -> Path:
        """The file that holds the namespace."""
        return Path("/proc", self.name, "ns/net")


@dataclass
class Wire:
    """Holds one wire: its ends, and its two directions as they are now."""

    number: int
    homes: list[Namespace]
    names: list[str]  # of the ends
    directions: list[Direction] = field(default_factory=lambda: [direction_of(), direction_of()])
    changes: list[int] = field(default_factory=lambda: [0, 0])  # how often each direction was set
    settings: list[dict[str, Any]] = field(default_factory=lambda: [{}, {}])  # as the script gave them
    past: list[dict[str, int]] = field(default_factory=lambda: [{}, {}])  # counters of qdiscs that were replaced
    name: str = ""  # for the seeds; it never changes

    def __post_init__(self) -> None:
        self.name = "-".join(self.names)

    @property
    def inner(self) -> tuple[str, str]:
        """The ends in the wires' namespace. The first faces the first end."""
        return build.wire_end(self.number, 0), build.wire_end(self.number, 1)

    def queue(self, side: int) -> str:
        """Return the interface whose root qdisc is the queue of the direction that leaves end `side`."""
        return stage.ends(self.number, side)[0] if self.directions[side].queue else self.inner[1 - side]


class Wires:
    """Makes, changes and removes wires. `seed` decides their random losses and delays."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._spaces = Spaces(NOTHING, seed=seed)
        self._undo = ExitStack()
        self._socket: Netlink | None = None
        self._made: list[Wire] = []
        self._owner = os.getpid()

    def make(self, names: tuple[str, str], processes: tuple[int, int], macs: tuple[str | None, str | None]) -> None:
        """Make a wire without a rate, a delay or losses between the namespaces of two processes."""
        homes: list[Namespace] = [ProcessNamespace(str(process)) for process in processes]
        wire = Wire(_number(), homes, list(names))
        for inner, name, home, mac in zip(wire.inner, names, homes, macs, strict=True):
            end = Interface("none", name, mac or _mac(), MTU, (), Offloads())
            device.veth(self._wires, inner, end, home)
            offload.write(self._wires, inner, Offloads())
            _link(self._wires, inner, attribute(device.IFLA_MTU, shaper.GATE_MTU.bytes))
            with _inside(home) as netlink:
                offload.write(netlink, name, Offloads())
        self._made.append(wire)
        for side in (0, 1):
            self._lay(wire, side)
        for inner in wire.inner:
            device.up(self._wires, inner)

    def find(self, name: str, process: int) -> tuple[Wire, int] | None:
        """Return the newest wire with an end of this name, and the end's number, or None if there is no such wire.

        An end in the namespace of `process` goes first, because several hosts may have ends of the same name. Any other
        end was moved to this namespace.
        """
        ends = [(wire, side) for wire in reversed(self._made) for side in (0, 1) if wire.names[side] == name]
        for wire, side in sorted(ends, key=lambda end: end[0].homes[end[1]].name != str(process)):
            if wire.homes[side].name != str(process):
                self._forget(wire, side)
                wire.homes[side] = ProcessNamespace(str(process))
                self._publish(wire, side)
            return wire, side
        return None

    def receive_merged(self, wire: Wire, side: int, gro: bool) -> None:
        """Let end `side` merge the frames that arrive, or not."""
        with _inside(wire.homes[side]) as netlink:
            offload.write(netlink, wire.names[side], Offloads(gro=gro))

    def change(self, wire: Wire, side: int, wanted: Direction, settings: dict[str, Any]) -> None:
        """Give the direction that leaves end `side` new settings. Frames that wait keep their place if the queue stays.

        Losses and jitter continue with a new seed. Mininet sets many interfaces again as they are.
        """
        before = wire.directions[side]
        wire.settings[side] = settings
        if wanted == before:
            return
        wire.changes[side] += 1
        if wanted.queue != before.queue or (wanted.rate is None) != (before.rate is None):
            self._clear(wire, side)
            wire.directions[side] = wanted
            self._lay(wire, side)
            return
        wire.directions[side] = wanted
        device.change_qdisc(self._wires, wire.inner[1 - side], qdisc.netem(wanted, self._seed_of(wire, side)))
        if wanted.rate and wanted.rate != before.rate:
            device.set_class(self._wires, wire.queue(side), shaper.htb_class(wanted.rate))

    def set_carrier(self, wire: Wire, side: int, up: bool) -> None:
        """Let the other end see that end `side` went up or down, as the ends of one veth pair do."""
        if not up:
            _down(self._wires, wire.inner[1 - side])
            return
        device.up(self._wires, wire.inner[1 - side])
        for each in wire.inner:  # otherwise the kernel looks at carriers once a second
            device.notice(self._wires, each)
        for home, name in zip(wire.homes, wire.names, strict=True):
            with suppress(LabError, OSError), _inside(home) as netlink:
                device.notice(netlink, name)

    def rename(self, wire: Wire, side: int, name: str) -> None:
        """Note an end's present name, for `tc`."""
        self._forget(wire, side)
        wire.names[side] = name
        self._publish(wire, side)

    def remove(self, wire: Wire) -> None:
        """Remove a wire with both ends, and write down what it carried."""
        if wire in self._made:
            self._made.remove(wire)
            self._write(wire)
            for side in (0, 1):
                self._forget(wire, side)
                self._clear(wire, side)
                with suppress(LabError):  # the end may have gone with its namespace
                    _remove(self._wires, wire.inner[side])

    def finish(self) -> None:
        """Write down what the wires carried that still exist, in the process that made them."""
        if os.getpid() == self._owner:
            for wire in self._made:
                self._write(wire)

    @property
    def _wires(self) -> Netlink:
        """A socket in the wires' namespace, which is made with the first wire."""
        if self._socket is None:
            with suppress(NamespaceError):  # another program of the script may have made it
                Namespace.create(self._spaces.of(WIRES).name)
            self._socket = self._undo.enter_context(build.wiring(self._spaces))
        return self._socket

    def _lay(self, wire: Wire, side: int) -> None:
        """Lead what end `side` sends to the other end, as `build.connect` does."""
        direction, source, target = wire.directions[side], wire.inner[side], wire.inner[1 - side]
        if direction.queue:
            stage.insert(self._wires, wire.number, side, wire.name, direction, target)
        onward = stage.ends(wire.number, side)[0] if direction.queue else target
        device.redirect(self._wires, source, onward, orphan=bool(direction.queue), longest=Size(FRAME))
        device.add_qdisc(self._wires, target, qdisc.netem(direction, self._seed_of(wire, side)))
        self._publish(wire, side)

    def _clear(self, wire: Wire, side: int) -> None:
        """Undo `_lay`, and keep the counters."""
        wire.past[side] = self._counters(wire, side)
        source, target = wire.inner[side], wire.inner[1 - side]
        with suppress(LabError, OSError):  # an end that is gone took its qdiscs along
            _delete_qdisc(self._wires, source, device.TC_INGRESS)
        with suppress(LabError, OSError):
            _delete_qdisc(self._wires, target, device.TC_ROOT)
        if wire.directions[side].queue:
            _remove(self._wires, stage.ends(wire.number, side)[0])

    def _seed_of(self, wire: Wire, side: int) -> int:
        chance = f"{self._seed}.{wire.changes[side]}" if wire.changes[side] > 1 else self._seed
        return qdisc.prng_seed(chance, wire.name, WAYS[side])

    def _counters(self, wire: Wire, side: int) -> dict[str, int]:
        """Return the frames that a direction has carried, lost and dropped, and the segments in longer frames."""
        end, queue = wire.inner[1 - side], wire.queue(side)
        found = dict.fromkeys(("frames", "bytes", "lost", "dropped", "overlong"), 0)
        with suppress(LabError, OSError):
            netem = device.qdiscs(self._wires).get(end, {})
            found |= {"frames": netem.get("packets", 0), "bytes": netem.get("bytes", 0), "lost": netem.get("drops", 0)}
            if queue != end:
                found["dropped"] = device.qdiscs(self._wires, device.LEAF).get(queue, {}).get("drops", 0)
            found["overlong"] = device.overlong(self._wires, wire.inner[side]) or 0
        return {name: number + wire.past[side].get(name, 0) for name, number in found.items()}

    def _write(self, wire: Wire) -> None:
        """Write down a wire's settings and counters, one line of JSON."""
        sides = [
            {
                "from": wire.names[side],
                "settings": wire.settings[side],
                "changes": wire.changes[side],
                **self._counters(wire, side),
                "mtu": self._mtu(wire, side),
            }
            for side in (0, 1)
        ]
        with (EXACT / "wires").open("a") as file:
            file.write(json.dumps({"number": wire.number, "directions": sides}, default=float) + "\n")

    def _mtu(self, wire: Wire, side: int) -> int:
        with suppress(LabError, OSError, KeyError), _inside(wire.homes[side]) as netlink:
            return device.links(netlink)[wire.names[side]].mtu
        return MTU.bytes

    def _publish(self, wire: Wire, side: int) -> None:
        """Let `tc` find the queue of an end by the end's name and namespace."""
        file = self._file(wire, side)
        if file:
            file.parent.mkdir(exist_ok=True)
            file.write_text(wire.queue(side) + "\n")

    def _forget(self, wire: Wire, side: int) -> None:
        if file := self._file(wire, side):
            file.unlink(missing_ok=True)

    def _file(self, wire: Wire, side: int) -> Path | None:
        try:
            return EXACT / str(wire.homes[side].path.stat().st_ino) / wire.names[side]
        except OSError:
            return None  # the node has ended


def _number() -> int:
    """Return a number that no wire has had, also not of another program."""
    number = 0
    while True:
        try:
            (EXACT / f"wire{number}").mkdir()
        except FileExistsError:
            number += 1
        else:
            return number


def _mac() -> str:
    """Return a random hardware address, as the kernel draws one for a veth: local, and of one station."""
    first, *rest = os.urandom(6)
    return bytes([first & 0xFC | 2, *rest]).hex(":")


@contextmanager
def _inside(home: Namespace) -> Iterator[Netlink]:
    with home.entered(), Netlink() as netlink:
        yield netlink


def _link(netlink: Netlink, name: str, change: bytes = b"", flags: tuple[int, int] = (0, 0)) -> None:
    body = _IFINFO.pack(0, 0, device.index(netlink, name), *flags) + change
    netlink.do(f"changing {name}", device.RTM_NEWLINK, body)


def _down(netlink: Netlink, name: str) -> None:
    _link(netlink, name, flags=(0, device.IFF_UP))


def _remove(netlink: Netlink, name: str) -> None:
    try:
        number = device.index(netlink, name)
    except OSError:
        return  # gone with the namespace of its peer
    netlink.do(f"removing {name}", RTM_DELLINK, _IFINFO.pack(0, 0, number, 0, 0))


def _delete_qdisc(netlink: Netlink, name: str, parent: int) -> None:
    handle = device.TC_INGRESS_HANDLE if parent == device.TC_INGRESS else 0
    body = _TCMSG.pack(0, device.index(netlink, name), handle, parent, 0)
    netlink.do(f"clearing {name}", device.RTM_DELQDISC, body)
