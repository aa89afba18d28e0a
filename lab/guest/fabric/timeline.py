"""Change links while a workload runs. A separate process sleeps until each change is due, and then requests it.

In virtual time, a request takes no time, so each change takes effect exactly on time. Every change is read back.
"""

from __future__ import annotations

import errno
import heapq
import json
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from msgspec import structs

from lab.guest import trace
from lab.guest.alarm import Alarm
from lab.guest.fabric import build, device, qdisc, routes, shaper, stage, wire
from lab.guest.fabric.moments import moments
from lab.guest.fabric.netlink import Netlink, Request
from lab.guest.fabric.spaces import WIRES, Spaces
from lab.guest.network import WAYS, Change, Direction, Link, Network, Route
from lab.units import Size

MS = 10**6  # ns
_END = {signal.SIGTERM}
CARRIED_AT_ONCE = shaper.GATE_MTU.bytes // 1514  # opportunities: a frame that wakes the gate is longer than its bucket


class Stopped(Exception):
    """Raised if SIGTERM arrives while the process waits."""


def changes(network: Network) -> bool:
    """Return whether any link of the network changes while the workload runs."""
    return any(way.changes or way.trace for link in network.links for _, way, _ in link.directions())


def states(direction: Direction, seed: str, way: str) -> Iterator[tuple[int, Direction]]:
    """Yield (ns since the start, new state of the direction), for each change and each end of a downtime.

    `seed` and `way` decide when changes come by chance. A change that both directions share does not depend on `way`.
    There may be no last state.
    """
    turns: list[Iterator[tuple[int, Change | None]]] = []
    ends: list[Iterator[tuple[int, Change | None]]] = []
    for index, change in enumerate(direction.changes):
        chance = f"{seed}/{'both' if change.shared else way}/changes/{index}"
        turns.append(_turns(change, moments(change, chance)))
        if change.down:
            ends.append(_ends(change.down.ns, moments(change, chance)))
    asked, down_until = direction, 0
    for at, turn in heapq.merge(*turns, *ends, key=lambda turn: turn[0]):
        if turn is not None:
            given = {key: getattr(turn, key) for key in ("rate", "delay", "loss", "mtu")}
            asked = structs.replace(asked, **{key: value for key, value in given.items() if value is not None})
            down_until = max(down_until, at + turn.down.ns) if turn.down else down_until
        # netem loses one of two copies, so a wire that is down makes none.
        down = structs.replace(asked, loss=1.0, burst_loss=None, duplicate=0.0)
        yield at, down if at < down_until else asked


def _turns(change: Change, times: Iterator[int]) -> Iterator[tuple[int, Change | None]]:
    return ((at, change) for at in times)


def _ends(down_ns: int, times: Iterator[int]) -> Iterator[tuple[int, Change | None]]:
    return ((at + down_ns, None) for at in times)


def opportunities(direction: Direction) -> Iterator[tuple[int, int]]:
    """Yield (ns since the start, number of opportunities to carry a frame), forever."""
    if direction.trace is None:
        return
    *moments, (period, _) = trace.decoded(direction.trace)
    for turn in count():
        for at, many in moments:
            yield (turn * period + at) * MS, many


class Player(msgspec.Struct):
    """Plays the changes of a network, and records them in `done`."""

    spaces: Spaces
    start_ns: int
    done: list[dict[str, Any]] = []
    differences: list[str] = []

    def play(self, target: Path) -> None:
        """Play until SIGTERM, restore every link, and write the record to `target`."""
        signal.signal(signal.SIGTERM, _stop)
        with ExitStack() as held:
            wires = held.enter_context(self.spaces.inside(WIRES))
            alarm = held.enter_context(Alarm())
            played = [
                each
                for number, link in enumerate(self.spaces.network.links)
                for side, (_, direction, _) in enumerate(link.directions())
                for each in (
                    _Changed(self, wires, number, side, link, direction),
                    _Gate(self, wires, number, side, link, direction, held),
                )
            ]
            try:
                for at, act in heapq.merge(*(each.turns() for each in played), key=lambda turn: turn[0]):
                    alarm.wait(self.start_ns + at)
                    signal.pthread_sigmask(signal.SIG_BLOCK, _END)  # a change is made whole, or not at all
                    act(time.monotonic_ns() - self.start_ns - at)
                    signal.pthread_sigmask(signal.SIG_UNBLOCK, _END)
                signal.pause()
            except Stopped:
                pass
            for each in played:
                each.restore()
        text = json.dumps({"done": self.done, "differences": self.differences}, indent=1)
        target.write_text(text + "\n")


Turn = tuple[int, Callable[[int], None]]  # when, in ns since the start; what to do, given how late it is in ns


class _Changed(msgspec.Struct):
    """Applies the changes to one direction. `now` is its latest state."""

    player: Player
    wires: Netlink
    number: int
    side: int
    link: Link
    direction: Direction
    now: Direction | None = None

    def turns(self) -> Iterator[Turn]:
        seed = f"{self.player.spaces.seed}/{self.link.name}"
        for index, (at, now) in enumerate(states(self.direction, seed, WAYS[self.side]), 1):
            yield at, self._act(at, index, now)

    def restore(self) -> None:
        """Restore the direction, for the read-back after the workload."""
        if self.direction.changes:
            self._apply(self.now or self.direction, self.direction, self.player.spaces.seed)

    def _act(self, at: int, index: int, now: Direction) -> Callable[[int], None]:
        def act(late: int) -> None:
            before, self.now = self.now or self.direction, now
            self._apply(before, now, f"{self.player.spaces.seed}.{index}")
            self._read_back(at, now)
            what = {key: str(getattr(now, key)) for key in ("rate", "delay", "loss", "mtu")}
            entry = {"link": self.link.name, "direction": WAYS[self.side], "at_ns": at, "late_ns": late, **what}
            self.player.done.append(entry)

        return act

    @property
    def _end(self) -> str:
        return build.wire_end(self.number, 1 - self.side)

    def _apply(self, before: Direction, now: Direction, chance: str) -> None:
        """Apply the state in the kernel.

        Losses and jitter get a new seed, so that the random sequence does not repeat.
        """
        wire.change(self.wires, self._end, now, (chance, self.link.name, WAYS[self.side]))
        if now.rate and now.rate != before.rate:
            device.set_class(self.wires, stage.ends(self.number, self.side)[0], shaper.htb_class(now.rate))
        if now.mtu != before.mtu:
            self._route(now.mtu)

    def _route(self, mtu: Size) -> None:
        """Make the node at the sending end send packets of at most this MTU through this link."""
        with self.player.spaces.inside(self.link.ends[self.side].node) as netlink:
            for route in self._routes(mtu):
                device.add_route(netlink, route)

    def _routes(self, mtu: Size) -> Iterator[Route]:
        """Yield the routes over this link that the node at the sending end has while the link has this MTU."""
        sender = self.link.ends[self.side]
        for route in routes.through(self.player.spaces.nodes[sender.node], sender):
            least = min(mtu, route.mtu or mtu)
            yield route if mtu == self.direction.mtu else structs.replace(route, mtu=least)

    def _read_back(self, at: int, now: Direction) -> None:
        where = f"link {self.link.name}, {WAYS[self.side]}, at {at / 1e9:g} s"
        found = wire.reported(self.wires, self._end, now)["options"]
        compared = [(key, value, found.get(key)) for key, value in qdisc.netem_wanted(now).items()]
        compared += wire.differences(self.wires, self._end, now, None)
        if now.queue and now.rate and not now.queue.is_bucket:
            shaped = shaper.htb_described(device.class_options(self.wires, stage.ends(self.number, self.side)[0]))
            compared += [(f"queue {key}", value, shaped[key]) for key, value in shaper.htb_wanted(now.rate).items()]
        if any(change.mtu for change in self.direction.changes):
            sender = self.link.ends[self.side].node
            with self.player.spaces.inside(sender) as netlink:
                names = {state.index: name for name, state in device.links(netlink).items()}
                compared += routes.compared(sender, self._routes(now.mtu), routes.found(netlink, names))
        self.player.differences += [
            f"{where}: {key} is {actual}, not {wanted}" for key, wanted, actual in compared if wanted != actual
        ]


class _Gate(msgspec.Struct):
    """Opens one direction's gate at each opportunity of its trace, for as many frames as the opportunity carries."""

    player: Player
    wires: Netlink
    number: int
    side: int
    link: Link
    direction: Direction
    held: ExitStack
    opened: int = 0
    latest_ns: int = 0

    def turns(self) -> Iterator[Turn]:
        if self.direction.trace is None or self.direction.queue is None:
            return
        inward, _ = stage.ends(self.number, self.side)
        limit = stage.fifo_limit(self.direction.queue)
        carried = self.direction.trace.opportunity.bytes + shaper.ETHERNET_HEADER.bytes
        waker = self.held.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
        waker.bind((inward, 0))
        closed = device.changed_qdisc(self.wires, inward, shaper.gate(limit))
        opened = [
            device.changed_qdisc(self.wires, inward, shaper.gate(limit, Size(many * carried)))
            for many in range(CARRIED_AT_ONCE + 1)
        ]

        def open_for(many: int) -> Callable[[int], None]:
            def act(late: int) -> None:
                self.opened += many
                self.latest_ns = max(self.latest_ns, late)
                for some in [CARRIED_AT_ONCE] * (many // CARRIED_AT_ONCE) + [many % CARRIED_AT_ONCE]:
                    self._let(some * carried, opened[some], closed, waker)

            return act

        for at, many in opportunities(self.direction):
            yield at, open_for(many)

    def _let(self, size: int, opened: Request, closed: Request, waker: socket.socket) -> None:
        """Let frames of `size` bytes pass.

        A changed TBF looks at its queue only when a frame arrives, and it drops this frame.
        """
        if size:
            self.wires.do_all([opened])
            try:
                waker.send(bytes(size + 1))
            except OSError as dropped:
                if dropped.errno != errno.ENOBUFS:
                    raise
            self.wires.do_all([closed])

    def restore(self) -> None:
        if self.direction.trace:
            entry = {"link": self.link.name, "direction": WAYS[self.side], "opportunities": self.opened}
            self.player.done.append({**entry, "late_ns": self.latest_ns})


def _stop(*_: object) -> NoReturn:
    raise Stopped
