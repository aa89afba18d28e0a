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

__all__ = ["Endpoint", "Packet", "Timers"]

TCP_MAX_QUICKACKS = 16
TCP_MSS_DEFAULT = 536  # what rcv_mss starts from at most
LVL_START = 63  # jiffies up to which a timer of the wheel is exact: LVL_START(1)
LVL_CLK_SHIFT = 3  # each further level is 2^3 times as coarse


class Packet(NamedTuple):
    """A segment."""

    seq: int
    end_seq: int
    ack_seq: int
    psh: bool  # whether it ends what was written


@dataclass(frozen=True, slots=True)
class Timers:
    """What both ends share: the kernel's ticks, and what its timers wait for."""

    hz: int  # ticks a second
    mss: int  # payload of a full segment, bytes
    rtt: int  # ns
    late: bool = True  # whether timers wait for one tick more, as they do since Linux 4.8

    def jiffies(self, now: int) -> int:
        """The tick that has passed last."""
        return now * self.hz // 10**9

    def time_of(self, jiffies: int) -> int:
        """When that tick is, in ns."""
        return -(-jiffies * 10**9 // self.hz)

    @property
    def ato_min(self) -> int:
        """TCP_ATO_MIN and TCP_DELACK_MIN: 40 ms in ticks."""
        return self.hz // 25

    @property
    def delack_max(self) -> int:
        """TCP_DELACK_MAX: 200 ms in ticks."""
        return self.hz // 5

    def expiry(self, expires: int, now: int) -> int:
        """The tick on which a timer for tick `expires` fires, set on tick `now`: calc_wheel_index()."""
        level = 0
        while expires - now >= LVL_START << LVL_CLK_SHIFT * level:
            level += 1
        shift = LVL_CLK_SHIFT * level
        return (expires >> shift) + (self.late or level > 0) << shift


@dataclass(slots=True)
class Endpoint:
    """The state of one socket; `nodelay` and `corked` are its options. Positions are bytes since the start."""

    timers: Timers
    nodelay: bool = False
    corked: bool = False
    snd_una: int = 0
    snd_nxt: int = 0
    write_seq: int = 0
    snd_sml: int = 0  # where the last segment that was not full ended
    rtx_queue: deque[tuple[int, int]] = field(default_factory=deque)  # (end, when sent) of each not acknowledged
    cubic: Cubic = field(default_factory=Cubic)
    rcv_nxt: int = 0
    rcv_wup: int = 0
    copied_seq: int = 0
    rcv_mss: int = TCP_MSS_DEFAULT
    lrcvtime: int = 0  # the tick of the last data
    ato: int = 0
    quick: int = 0
    pingpong: bool = False
    ack_scheduled: bool = False  # an ACK is due
    ack_pushed: int = 0  # segments that were not full since the last ACK, up to 2
    expires: int | None = None  # the tick on which the delayed ACK's timer fires

    def write_xmit(self, now: int) -> Iterator[Packet]:
        """As much of what is written as may go: tcp_write_xmit()."""
        before = self.snd_nxt
        while self.snd_nxt < self.write_seq and len(self.rtx_queue) < self.cubic.cwnd:
            size = min(self.write_seq - self.snd_nxt, self.timers.mss)
            if size < self.timers.mss and self._nagle_check():
                break
            yield self._send_data(now, size)
        limited = len(self.rtx_queue) >= self.cubic.cwnd
        if limited or self.snd_nxt > before:
            self.cubic.sent(len(self.rtx_queue), limited, self.snd_una, self.snd_nxt)

    def _nagle_check(self) -> bool:
        """Whether a segment that is not full waits: tcp_nagle_check(), tcp_minshall_check()."""
        return self.corked or (not self.nodelay and self.snd_una < self.snd_sml <= self.snd_nxt)

    def _send_data(self, now: int, size: int) -> Packet:
        packet = self._packet(size)
        self.rtx_queue.append((self.snd_nxt, now))
        if size < self.timers.mss:
            self.snd_sml = self.snd_nxt
        if self.timers.jiffies(now) - self.lrcvtime < self.ato:  # tcp_event_data_sent(): an answer
            self.pingpong = True
        return packet

    def _packet(self, size: int) -> Packet:
        """Every packet acknowledges: tcp_event_ack_sent()."""
        start, self.snd_nxt = self.snd_nxt, self.snd_nxt + size
        if self.quick and self.ack_scheduled:  # tcp_dec_quickack_mode()
            self.quick -= 1
            if not self.quick:
                self.ato = self.timers.ato_min
        self.rcv_wup, self.ack_scheduled, self.ack_pushed, self.expires = self.rcv_nxt, False, 0, None
        return Packet(start, self.snd_nxt, self.rcv_nxt, self.snd_nxt == self.write_seq)

    def receive(self, now: int, packet: Packet) -> Iterator[Packet]:
        """What a packet that arrives sets off: tcp_rcv_established()."""
        if packet.end_seq > packet.seq:
            self._measure_rcv_mss(packet)
            self._event_data_recv(self.timers.jiffies(now), packet.end_seq)
        if packet.ack_seq > self.snd_una:
            self._clean_rtx_queue(now, packet.ack_seq)
            yield from self.write_xmit(now)
        if self.ack_scheduled and packet.end_seq > packet.seq:
            yield from self._ack_snd_check(self.timers.jiffies(now))

    def _measure_rcv_mss(self, packet: Packet) -> None:
        """What a full segment is, and whether this one is none or ends a write: tcp_measure_rcv_mss()."""
        size = packet.end_seq - packet.seq
        if size >= self.rcv_mss:
            self.rcv_mss = size
            self.ack_pushed = max(self.ack_pushed, int(packet.psh))
        else:
            self.ack_pushed = min(self.ack_pushed + 1, 2)

    def _event_data_recv(self, jiffy: int, end: int) -> None:
        """The pace of what arrives decides how long an ACK waits: tcp_event_data_recv()."""
        self.ack_scheduled, self.rcv_nxt = True, end
        low = self.timers.ato_min
        if not self.ato:
            self.quick, self.ato = TCP_MAX_QUICKACKS, low
        elif jiffy - self.lrcvtime <= low // 2:
            self.ato = self.ato // 2 + low // 2
        elif jiffy - self.lrcvtime < self.ato:
            self.ato = min(self.ato // 2 + jiffy - self.lrcvtime, self.timers.delack_max)
        self.lrcvtime = jiffy

    def _clean_rtx_queue(self, now: int, upto: int) -> None:
        self.snd_una, segments, sent = upto, 0, now
        while self.rtx_queue and self.rtx_queue[0][0] <= upto:
            sent, segments = self.rtx_queue.popleft()[1], segments + 1
        self.cubic.acknowledged(now // 1000, (now - sent) // 1000, segments, self.snd_una, self.snd_nxt)

    def _ack_snd_check(self, jiffy: int) -> Iterator[Packet]:
        """At once or later: __tcp_ack_snd_check()."""
        if self.rcv_nxt - self.rcv_wup > self.rcv_mss or (self.quick and not self.pingpong):
            yield self._packet(0)
            return
        low = self.timers.ato_min
        ato = self.ato  # tcp_send_delayed_ack()
        if ato > low:
            ato = min(ato, self.timers.delack_max, max(self.timers.jiffies(self.timers.rtt), low))
        due = self.timers.expiry(jiffy + ato, jiffy)
        self.expires = due if self.expires is None else min(due, self.expires)

    def read(self) -> Iterator[Packet]:
        """The application reads all that is there: __tcp_cleanup_rbuf()."""
        copied, self.copied_seq = self.rcv_nxt - self.copied_seq, self.rcv_nxt
        full = self.rcv_nxt - self.rcv_wup > self.rcv_mss
        pushed = self.ack_pushed == 2 or (self.ack_pushed == 1 and not self.pingpong)
        if self.ack_scheduled and (full or (copied and pushed)):
            yield self._packet(0)

    def delack_timer(self) -> Iterator[Packet]:
        """The delayed ACK's timer: tcp_delack_timer_handler()."""
        self.expires = None
        if not self.ack_scheduled:
            return
        if self.pingpong:
            self.pingpong, self.ato = False, self.timers.ato_min
        else:
            self.ato = min(2 * self.ato, self.timers.delack_max)
        yield self._packet(0)
