"""The sending end of a bulk transfer: what waits in its buffer, skb by skb, and when which of it leaves.

Written after net/ipv4/tcp.c (tcp_sendmsg_locked()), tcp_output.c (tcp_write_xmit()), tcp_input.c (tcp_ack()) and
net/core/stream.c, for a path without loss. Positions are bytes of payload since the start, times are whole nanoseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Self

from lab.model.cubic import Cubic
from lab.model.line import base_rtt
from lab.model.mss import mss
from lab.model.path import Path
from lab.model.receiver import SYN, Ack
from lab.model.skb import gso_bytes, overhead
from lab.model.window import gso_segments, initial_window, sndbuf_per_segment

__all__ = ["Limits", "Sender", "Skb"]

_US = 1000  # ns
_MIN_BURST = 2  # segments: tcp_min_tso_segs
_PACING_SHIFT = 10  # a burst is at most what pacing would send in 2^-10 s: sk_pacing_shift
_RTT_SHIFT = 9  # and, near by, the largest halved for each 2^9 us of the RTT: tcp_tso_rtt_log
_WIN_DIVISOR = 3  # tcp_tso_win_divisor
_PATIENCE = 1_000_000  # ns that a sender puts a burst off for at most

_PUSH, _CORK = 1, 2  # TCP_NAGLE_PUSH, TCP_NAGLE_CORK


@dataclass(slots=True)
class Skb:
    """Payload of the send queue, up to `end`; whether it has PSH, and when it was sent."""

    end: int
    push: bool = False
    sent: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """What the sender starts from: its MSS, the most segments and bytes of an skb, what its head costs, the largest
    buffer (tcp_wmem[2]) and what tcp_sndbuf_expand() reserves for a segment, the handshake's RTT in ns, the window
    that the handshake offered, and the kernel's ticks a second.
    """

    mss: int
    segments: int
    largest: int
    overhead: int
    buffer: int
    per_segment: int
    rtt: int
    window: int
    hz: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """Those of the path's sender."""
        return cls(
            mss=mss(path),
            segments=gso_segments(path),
            largest=gso_bytes(path),
            overhead=overhead(path),
            buffer=path.sndbuf_max,
            per_segment=sndbuf_per_segment(path),
            rtt=int(base_rtt(path, SYN).number * 1e9),
            window=initial_window(path),
            hz=path.hz,
        )


class Sender:
    """The state of the sending socket. What it sends goes to `wire(now, start, skb)`."""

    def __init__(self, limits: Limits, wire: Callable[[int, int, Skb], None]) -> None:
        self.limits, self.mss, self.wire = limits, limits.mss, wire
        self.cubic = Cubic(limits.hz)
        self.queue: deque[Skb] = deque()  # not sent
        self.flight: deque[Skb] = deque()  # sent and not acknowledged
        self.una = self.nxt = self.written = 0  # snd_una, snd_nxt, write_seq
        self.window = self.largest = limits.window  # snd_wnd, max_window
        self.pushed = self.small = 0  # pushed_seq, snd_sml
        self.packets = 0  # packets_out
        self.buffer = 2 * self.cubic.cwnd * limits.per_segment  # sk_sndbuf
        self.full = self.closed = False  # SOCK_NOSPACE; FIN
        self.srtt = limits.rtt // _US << 3  # srtt_us: eight times the estimate, in us
        self.near = limits.largest >> (limits.rtt // _US >> _RTT_SHIFT)
        self.echo = -(limits.rtt // 10**6)  # the receiver's time stamp that was seen last, ms
        self.stamp = 0  # when it last sent
        self.now = 0  # tcp_clock_cache

    def queued(self) -> int:
        """sk_wmem_queued: each skb costs its head too."""
        return self.written - self.una + self.limits.overhead * (len(self.queue) + len(self.flight))

    def writeable(self) -> bool:
        """sk_stream_is_writeable(): whether a third is free."""
        queued = self.queued()
        return queued < self.buffer and self.buffer - queued >= queued >> 1

    def send(self, size: int, more: bool = False, wait: bool = True) -> Generator[None, None, int]:
        """tcp_sendmsg_locked(): returns how much was taken.

        Yields where its process sleeps until it is woken: sk_stream_wait_memory(). No ACK comes before it does.
        """
        left, goal = size, self._goal()
        while left:
            tail = self.queue[-1] if self.queue else None
            room = goal - self._length_of_tail() if tail else 0
            if tail is None or room <= 0:
                if self.queued() >= self.buffer:
                    self.full = True
                    if left < size:
                        self._push(_PUSH, more=False)
                    if not wait:
                        break
                    self.full = True
                    yield
                    goal = self._goal()
                    continue
                tail, room = Skb(self.written), goal
                self.queue.append(tail)
            if left == size:
                tail.push = False
            step = min(room, left)
            self.written += step
            tail.end = self.written
            left -= step
            if left and step == room:
                if self._forced():
                    self._mark(tail)
                    self._transmit(_PUSH)
                elif len(self.queue) == 1:
                    self._transmit(_PUSH, one=True)
        if left < size:
            self._push(_CORK if more else 0, more)
        return size - left

    def close(self) -> None:
        """tcp_send_fin(): what is left waits no longer for more."""
        self.closed = True
        self._transmit(_PUSH)

    def acknowledged(self, now: int, ack: Ack) -> bool:
        """tcp_ack(), and what may be sent then. Returns whether that wakes the writer.

        Data wakes it too, to find whatever room there is: its wait is on the socket, not on room alone.
        """
        waiting, self.now = self.full, now
        if ack.upto > self.una:
            self._clean(ack.upto)
        elif ack.window <= self.window:
            return ack.answer
        self.window, self.echo = ack.window, ack.stamp
        self.largest = max(self.largest, ack.window)
        self._transmit(0)
        self._check_space()
        return (waiting and not self.full) or ack.answer

    def _clean(self, upto: int) -> None:
        """tcp_clean_rtx_queue(), and what follows from its RTT samples."""
        before, first, last = self.packets, self.flight[0].sent, 0
        start, self.una = self.una, upto
        while self.flight and start < upto:
            skb = self.flight[0]
            self.packets -= -(-(skb.end - start) // self.mss)
            last = skb.sent
            if skb.end > upto:
                self.packets += -(-(skb.end - upto) // self.mss)
                break
            start = self.flight.popleft().end
        now, delay = self.now // _US, 4 * 10**6 * self.limits.largest // self._pace()  # hystart_ack_delay()
        self.cubic.acknowledged(now, now - last // _US, before - self.packets, upto, self.nxt, delay)
        self.srtt += now - first // _US - (self.srtt >> 3)  # tcp_rtt_estimator()

    def _goal(self) -> int:
        """tcp_xmit_size_goal(): whole segments, for at most half of the largest window."""
        segments = min(min(self.limits.largest, self.largest >> 1) // self.mss, self.limits.segments)
        return max(segments, 1) * self.mss

    def _length_of_tail(self) -> int:
        return self.queue[-1].end - (self.queue[-2].end if len(self.queue) > 1 else self.nxt)

    def _forced(self) -> bool:
        """forced_push(): PSH after half of the largest window."""
        return self.written > self.pushed + (self.largest >> 1)

    def _mark(self, skb: Skb) -> None:
        skb.push, self.pushed = True, self.written

    def _push(self, nonagle: int, more: bool) -> None:
        """tcp_push()."""
        if not self.queue:
            return
        if not more or self._forced():
            self._mark(self.queue[-1])
        self._transmit(nonagle)

    def _pace(self) -> int:
        """Bytes a second: tcp_update_pacing_rate()."""
        return (200 if self.cubic.slow_start else 120) * self.cubic.cwnd * self.mss * 80_000 // self.srtt

    def _burst(self) -> int:
        """The most segments of one skb: tcp_tso_autosize()."""
        size = min((self._pace() >> _PACING_SHIFT) + self.near, self.limits.largest)
        return min(max(size // self.mss, _MIN_BURST), self.limits.segments)

    def _transmit(self, nonagle: int, one: bool = False) -> None:
        """tcp_write_xmit()."""
        queue, mss, cwnd = self.queue, self.mss, self.cubic.cwnd
        if not queue:
            return
        most, sent, short = self._burst(), False, False
        while queue and self.packets < cwnd:
            quota = min(cwnd - self.packets, max(cwnd >> 1, 1), most)
            head = queue[0]
            self._top_up(head, quota * mss)
            length, window, last = head.end - self.nxt, self.una + self.window - self.nxt, len(queue) == 1
            if window < min(length, mss):
                break
            if length <= mss:
                if length < mss and last and not self.closed and self._waits(nonagle):
                    break
                limit = mss
            else:
                if not one and self._defers(length, window, most, last):
                    short = (cwnd - self.packets) * mss < min(window, length + 1)
                    break
                limit = self._split(length, window, quota * mss, last, nonagle)
            if length > limit:
                queue.appendleft(Skb(self.nxt + limit))  # tso_fragment()
            self._depart()
            sent = True
            if one:
                break
        short |= self.packets >= cwnd
        if sent or short:
            self.cubic.sent(self.packets, short, self.una, self.nxt)

    def _top_up(self, head: Skb, wanted: int) -> None:
        """From the next one: tcp_grow_skb()."""
        missing = self.nxt + wanted - head.end
        if missing > 0 and len(self.queue) > 1:
            following = self.queue[1]
            head.end = min(head.end + missing, following.end)
            if head.end == following.end:
                head.push |= following.push
                del self.queue[1]

    def _waits(self, nonagle: int) -> bool:
        """tcp_nagle_check(), for what is less than a segment."""
        if nonagle:
            return nonagle == _CORK
        return self.packets > 0 and self.una < self.small <= self.nxt

    def _split(self, length: int, window: int, most: int, last: bool, nonagle: int) -> int:
        """tcp_mss_split_point()."""
        if most <= window and not last:
            return most
        needed = min(length, window)
        if most <= needed:
            return most
        part = needed % self.mss
        return needed - part if part and self._waits(nonagle) else needed

    def _defers(self, length: int, window: int, most: int, last: bool) -> bool:
        """Whether it waits for room for a whole burst: tcp_tso_should_defer().

        Not where it has that, or all of an skb that is full, or a third of the window; nor after 1 ms without a
        segment, or when the next ACK is further away than that.
        """
        if self.now - self.stamp > _PATIENCE:
            return False
        limit = min(window, (self.cubic.cwnd - self.packets) * self.mss)
        if limit >= most * self.mss or (not last and limit >= length):
            return False
        if limit >= min(self.window, self.cubic.cwnd * self.mss) // _WIN_DIVISOR or not self.flight:
            return False
        srtt = 125 * self.srtt
        if self.flight[0].sent + srtt - self.now > min(srtt >> 1, _PATIENCE):
            return False
        return limit <= length or not (last and self.closed)

    def _depart(self) -> None:
        """The first skb of the queue: tcp_event_new_data_sent(), tcp_minshall_update()."""
        skb = self.queue.popleft()
        length = skb.end - self.nxt
        packets = -(-length // self.mss)
        skb.sent = self.stamp = self.now
        skb.push |= packets > 1  # __tcp_transmit_skb()
        self.wire(self.now, self.nxt, skb)
        self.flight.append(skb)
        self.nxt, self.packets = skb.end, self.packets + packets
        if length < packets * self.mss:
            self.small = skb.end
        self._check_space()

    def _check_space(self) -> None:
        """tcp_check_space(): the buffer grows with cwnd, and a writer wakes where a third of it is free."""
        if not self.full:
            return
        if self.packets < self.cubic.cwnd:  # tcp_should_expand_sndbuf()
            self.buffer = max(self.buffer, min(2 * self.cubic.cwnd * self.limits.per_segment, self.limits.buffer))
        self.full = not self.writeable()
