"""One end of a connection that nothing gets lost on: when Linux sends a small segment, and when it acknowledges one.

Written after net/ipv4/tcp_output.c (Nagle's rule as Minshall has it), tcp_input.c (quick and delayed ACKs), tcp.c
(the ACK of a read), tcp_timer.c and kernel/time/timer.c. Times are whole nanoseconds; jiffies are ticks of 1/HZ.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from lab.model.cubic import Cubic

__all__ = ["Endpoint", "Packet", "Rules"]

_QUICK = 16  # TCP_MAX_QUICKACKS
_MSS_DEFAULT = 536  # what rcv_mss starts from at most: TCP_MSS_DEFAULT
_WHEEL = 63  # ticks up to which a timer of the wheel is exact: LVL_START(1)
_LEVEL = 3  # each further level is 2^3 times as coarse: LVL_CLK_SHIFT


class Packet(NamedTuple):
    """A segment: payload from `start` to `end`, and what it acknowledges. `push` marks the end of what was written."""

    start: int
    end: int
    ack: int
    push: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """What both ends share. `mss` in bytes, `rtt` in ns; `late`: timers wait for one tick more (since Linux 4.8)."""

    hz: int
    mss: int
    rtt: int
    late: bool = True

    def jiffy(self, now: int) -> int:
        """The tick that has passed last."""
        return now * self.hz // 10**9

    def tick(self, jiffy: int) -> int:
        """When that tick is, in ns."""
        return -(-jiffy * 10**9 // self.hz)

    @property
    def ato_min(self) -> int:
        """TCP_ATO_MIN and TCP_DELACK_MIN: 40 ms in ticks."""
        return self.hz // 25

    @property
    def ato_max(self) -> int:
        """TCP_DELACK_MAX: 200 ms in ticks."""
        return self.hz // 5

    def fires(self, jiffy: int, now: int) -> int:
        """The tick on which a timer for `jiffy` expires, set on tick `now`: calc_wheel_index()."""
        level = 0
        while jiffy - now >= _WHEEL << _LEVEL * level:
            level += 1
        shift = _LEVEL * level
        return (jiffy >> shift) + (self.late or level > 0) << shift


@dataclass(slots=True)
class Endpoint:
    """The state of one socket; `nodelay` and `corked` are its options. Positions are bytes since the start."""

    rules: Rules
    nodelay: bool = False
    corked: bool = False
    una: int = 0
    nxt: int = 0
    written: int = 0
    small: int = 0  # where the last segment that was not full ended (snd_sml)
    flight: deque[tuple[int, int]] = field(default_factory=deque)  # (end, when sent) of each segment not acknowledged
    cubic: Cubic = field(default_factory=Cubic)
    received: int = 0  # rcv_nxt
    acked: int = 0  # rcv_wup
    read: int = 0  # copied_seq
    segment: int = _MSS_DEFAULT  # rcv_mss
    last: int = 0  # the tick of the last data (lrcvtime)
    ato: int = 0
    quick: int = 0
    pingpong: bool = False
    scheduled: bool = False  # an ACK is due
    pushed: int = 0  # segments that were not full since the last ACK, up to 2
    expires: int | None = None  # the tick on which the delayed ACK's timer fires

    def send(self, now: int) -> Iterator[Packet]:
        """As much of what is written as may go: tcp_write_xmit()."""
        before = self.nxt
        while self.nxt < self.written and len(self.flight) < self.cubic.cwnd:
            size = min(self.written - self.nxt, self.rules.mss)
            if size < self.rules.mss and self._waits():
                break
            yield self._data(now, size)
        limited = len(self.flight) >= self.cubic.cwnd
        if limited or self.nxt > before:
            self.cubic.sent(len(self.flight), limited, self.una, self.nxt)

    def _waits(self) -> bool:
        """Whether a segment that is not full waits: tcp_nagle_check(), tcp_minshall_check()."""
        return self.corked or (not self.nodelay and self.una < self.small <= self.nxt)

    def _data(self, now: int, size: int) -> Packet:
        packet = self._packet(size)
        self.flight.append((self.nxt, now))
        if size < self.rules.mss:
            self.small = self.nxt
        if self.rules.jiffy(now) - self.last < self.ato:  # tcp_event_data_sent(): an answer
            self.pingpong = True
        return packet

    def _packet(self, size: int) -> Packet:
        """Every packet acknowledges: tcp_event_ack_sent()."""
        start, self.nxt = self.nxt, self.nxt + size
        if self.quick and self.scheduled:  # tcp_dec_quickack_mode()
            self.quick -= 1
            if not self.quick:
                self.ato = self.rules.ato_min
        self.acked, self.scheduled, self.pushed, self.expires = self.received, False, 0, None
        return Packet(start, self.nxt, self.received, self.nxt == self.written)

    def receive(self, now: int, packet: Packet) -> Iterator[Packet]:
        """What a packet that arrives sets off: tcp_rcv_established()."""
        if packet.end > packet.start:
            self._measure(packet)
            self._take(self.rules.jiffy(now), packet.end)
        if packet.ack > self.una:
            self._acknowledged(now, packet.ack)
            yield from self.send(now)
        if self.scheduled and packet.end > packet.start:
            yield from self._acknowledge(self.rules.jiffy(now))

    def _measure(self, packet: Packet) -> None:
        """What a full segment is, and whether this one is none or ends a write: tcp_measure_rcv_mss()."""
        size = packet.end - packet.start
        if size >= self.segment:
            self.segment = size
            self.pushed = max(self.pushed, int(packet.push))
        else:
            self.pushed = min(self.pushed + 1, 2)

    def _take(self, jiffy: int, end: int) -> None:
        """The pace of what arrives decides how long an ACK waits: tcp_event_data_recv()."""
        self.scheduled, self.received = True, end
        low = self.rules.ato_min
        if not self.ato:
            self.quick, self.ato = _QUICK, low
        elif jiffy - self.last <= low // 2:
            self.ato = self.ato // 2 + low // 2
        elif jiffy - self.last < self.ato:
            self.ato = min(self.ato // 2 + jiffy - self.last, self.rules.ato_max)
        self.last = jiffy

    def _acknowledged(self, now: int, upto: int) -> None:
        self.una, segments, sent = upto, 0, now
        while self.flight and self.flight[0][0] <= upto:
            sent, segments = self.flight.popleft()[1], segments + 1
        self.cubic.acknowledged(now // 1000, (now - sent) // 1000, segments, self.una, self.nxt)

    def _acknowledge(self, jiffy: int) -> Iterator[Packet]:
        """At once or later: __tcp_ack_snd_check()."""
        if self.received - self.acked > self.segment or (self.quick and not self.pingpong):
            yield self._packet(0)
            return
        low = self.rules.ato_min
        ato = self.ato  # tcp_send_delayed_ack()
        if ato > low:
            ato = min(ato, self.rules.ato_max, max(self.rules.jiffy(self.rules.rtt), low))
        due = self.rules.fires(jiffy + ato, jiffy)
        self.expires = due if self.expires is None else min(due, self.expires)

    def consume(self) -> Iterator[Packet]:
        """The application reads all that is there: __tcp_cleanup_rbuf()."""
        copied, self.read = self.received - self.read, self.received
        full = self.received - self.acked > self.segment
        pushed = self.pushed == 2 or (self.pushed == 1 and not self.pingpong)
        if self.scheduled and (full or (copied and pushed)):
            yield self._packet(0)

    def expire(self) -> Iterator[Packet]:
        """The delayed ACK's timer: tcp_delack_timer_handler()."""
        self.expires = None
        if not self.scheduled:
            return
        if self.pingpong:
            self.pingpong, self.ato = False, self.rules.ato_min
        else:
            self.ato = min(2 * self.ato, self.rules.ato_max)
        yield self._packet(0)
