"""Simulate both ends of a Multipath TCP connection and the paths between them, event by event."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial
from heapq import heappop, heappush
from itertools import count

from lab.ext.mptcp.model.connection import Connection
from lab.ext.mptcp.model.subflow import DSS, DSS_ACK, SACK_BLOCK, Packet, Subflow
from lab.guest.network import Direction
from lab.model.delayed_ack import NEVER
from lab.model.line import frame
from lab.model.mss import mss
from lab.model.scenario import ModelError, Scenario
from lab.model.wire import Wire


class Lossy(Wire):
    """Simulates hops that drop frames beyond their limit: netem_enqueue()."""

    def __init__(self, hops: Iterable[Direction], overhead: int) -> None:
        super().__init__(hops, overhead)
        self._limits = tuple(hop.limit if hop.rate else NEVER for hop in self._hops)

    def admits(self, now: int) -> bool:
        """Return whether the first hop with a rate has room for a frame now."""
        for held, limit in zip(self._held, self._limits, strict=True):
            while held and held[0] <= now:
                held.popleft()
            if len(held) >= limit:
                return False
        return True


class Both:
    """Simulates the two ends. Subflows are added one by one. Times are in ns since a kernel tick."""

    def __init__(self, scenario: Scenario) -> None:
        self.near, self.far = Connection(scenario), Connection(scenario.reversed())
        self.now = 0
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._writers: dict[Connection, Generator[None, None, None]] = {}
        self._wakes: dict[Subflow, int] = {}  # when each one looks at its timers next
        self._ends: dict[Subflow, Connection] = {}

    def at(self, time: int, happens: Callable[[], None]) -> None:
        """Schedule an event at a time."""
        heappush(self._events, (time, next(self._order), happens))

    def join(self, scenario: Scenario) -> None:
        """Add a subflow over the scenario's path."""
        overhead = frame(scenario).bytes - mss(scenario)
        ahead, behind = Lossy(scenario.forward, overhead), Lossy(scenario.reverse, overhead)
        near = Subflow(scenario, self.near, lambda packet: self._carry(ahead, self.far, far, packet))
        far = Subflow(scenario.reversed(), self.far, lambda packet: self._carry(behind, self.near, near, packet))
        near.peer, far.peer = far, near
        self._ends |= {near: self.near, far: self.far}
        self.near.join(near, connects=scenario.client == "sender")
        self.far.join(far, connects=scenario.client == "receiver")

    def write(self, end: Connection, time: int, size: int, closes: bool = False) -> None:
        """Let the process at an end write at a given time, and then shut down the connection."""

        def start() -> None:
            self._writers[end] = writes()
            self._write(end)

        def writes() -> Generator[None, None, None]:
            yield from end.sendmsg(size)
            if closes:
                end.close()

        self.at(time, start)

    def _write(self, end: Connection) -> None:
        end.now, end.awake = self.now, False
        if end in self._writers and next(self._writers[end], "done") == "done":
            del self._writers[end]

    def _carry(self, wire: Lossy, end: Connection, subflow: Subflow, packet: Packet) -> None:
        if not wire.admits(self.now):
            return
        options = DSS if packet.len or packet.data_fin is not None else DSS_ACK
        payload = packet.len + options + SACK_BLOCK * (packet.sack is not None)
        self.at(wire.carry(self.now, payload), lambda: end.receive(self.now, subflow, packet))

    def run(self, done: Callable[[], bool]) -> int:
        """Simulate until `done` returns true, and return the time of this event."""
        while not done():
            self._set_timers()
            if not self._events:
                raise ModelError("nothing happens any more: the model does not cover what such a transfer waits for")
            self.now, _, happens = heappop(self._events)
            happens()
            for end in (self.near, self.far):
                if end.readable:
                    end.read(self.now)
                while end.awake:
                    self._write(end)
        return self.now

    def _set_timers(self) -> None:
        for subflow in self._ends:
            due = subflow.receiver.icsk_ack.due
            if subflow.reo_due < due:
                due = subflow.reo_due
            if subflow.probe_due < due:
                due = subflow.probe_due
            if due < NEVER and due < self._wakes.get(subflow, NEVER):
                self._wakes[subflow] = due
                self.at(due, partial(self._timer, subflow))

    def _timer(self, subflow: Subflow) -> None:
        end = self._ends[subflow]
        end.now = self.now
        if self._wakes.get(subflow, NEVER) <= self.now:
            del self._wakes[subflow]
        if subflow.receiver.icsk_ack.due <= self.now:
            subflow.delack_timer(self.now)
        if subflow.reo_due <= self.now:
            subflow.reo_timer(self.now)
        if subflow.probe_due <= self.now:
            subflow.probe_timer(self.now)
        end.delegated()
