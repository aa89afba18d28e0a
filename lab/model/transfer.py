"""A bulk transfer played forward, ACK by ACK: what slow start and the two windows let through in a finite time.

The rules are the kernel's (net/ipv4/tcp_cubic.c, tcp_input.c, tcp_output.c, tcp.c), on a path without loss, with a
receiver that reads at once and acknowledges every second segment, or each one that is longer than it announced. What
they decide together has no closed form: a sender short of buffer space sends a third of it at a time, because its
writer sleeps until a third is free; one short of window waits until it has room for a burst.

A large transfer is played in part: by then it is in a steady state, which its rest goes on with.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf
from typing import NamedTuple

from lab.model.cubic import Cubic
from lab.model.line import ModelError, base_rtt, frame, packet
from lab.model.mss import mss, own_segment
from lab.model.path import Path
from lab.model.window import (
    GSO_BYTES,
    OVERHEAD,
    gso_segments,
    initial_window,
    rcv_window,
    skb_payload,
    sndbuf_per_segment,
)
from lab.units import Rate, Size

__all__ = ["Transfer", "transfer"]

_DELACK = 0.040  # seconds that the ACK of a lone segment waits: TCP_DELACK_MIN, HZ/25
_SYN = Size(60)  # IP packet: 20, 20 and 20 of options
_MIN_BURST = 2  # segments: tcp_min_tso_segs
_PACING_SHIFT = 10  # a burst is at most what pacing would send in 2^-10 s: sk_pacing_shift
_RTT_SHIFT = 9  # and, near by, GSO_BYTES halved for each 2^9 us of the RTT: tcp_tso_rtt_log
_WIN_DIVISOR = 3  # tcp_tso_win_divisor
_PATIENCE = 0.001  # seconds that a sender puts a burst off for at most
_GRAIN = 256e-9  # seconds by which sending an skb brings a virtual clock on, as it reads it (docs/virtual-time.md)
_STEADY_ROUNDS, _STEADY_BYTES = 32, 1 << 20  # full round trips, or bytes, after which a transfer is steady


@dataclass(frozen=True, slots=True)
class Transfer:
    """What a writer that stops after `seconds`, or when it has written all, gets through. Times in seconds since its
    first write.

    Bytes `written` to the socket and `sent` to the wire by then; a packet sent at the end waits `queue` for the wire.
    One that is within a block by then still writes the rest of it, `total` bytes in all. The reader first wakes at
    `started` (None: never) and finds `first` bytes; all that was written has arrived at `drained`. `peak` is the most
    frames that the bottleneck held. `acks` are the times when the sender saw an ACK, and what was acknowledged then.
    """

    seconds: float
    written: int
    total: int
    sent: int
    queue: float
    started: float | None
    first: int
    drained: float
    peak: int
    acks: tuple[tuple[float, ...], tuple[int, ...]] = field(repr=False)

    def acked(self, at: float) -> int:
        """Bytes that the sender knew to have arrived at that time."""
        times, acked = self.acks
        return acked[bisect_right(times, at) - 1] if times and times[0] <= at else 0


def transfer(path: Path) -> Transfer:
    """Plays the path's workload. Raises ModelError for a path without a rate or a workload without an end."""
    if path.rate is None or (path.duration is None and path.size is None):
        raise ModelError("a transfer is predicted for a path with a rate and a workload with a duration or a size")
    hops = tuple(replace(hop, limit=0, loss=0.0) for hop in path.forward)
    plain = replace(path, forward=hops)
    part = max(int(_STEADY_ROUNDS * path.rate.bps / 8 * base_rtt(path).number), _STEADY_BYTES)
    if path.size is None or path.size.bytes <= 2 * part:
        return _played(plain)
    half, whole = (_played(replace(plain, size=Size(parts * part))) for parts in (1, 2))
    rest = (path.size.bytes - whole.written) / (whole.written - half.written) * (whole.drained - half.drained)
    end = whole.drained + rest
    return replace(
        whole, seconds=end, drained=end, written=path.size.bytes, total=path.size.bytes, sent=path.size.bytes
    )


@lru_cache(maxsize=64)
def _played(path: Path) -> Transfer:
    """`path` without what the play does not look at, so that a sweep over it is played once."""
    assert path.rate is not None
    if path.size is not None:
        return _Play(path, path.rate, inf, path.size.bytes).result()
    assert path.duration is not None
    if path.turn is None and path.block is None:
        raise ModelError("nothing says how much its writer writes at once")
    return _Play(path, path.rate, path.duration.seconds, sys.maxsize).result()


class _Ack(NamedTuple):
    at: float  # when it arrives at the sender
    upto: int
    sent: float  # when its last segment was


class _Sent(NamedTuple):
    end: int
    at: float


class _Play:
    """Sender, wire and receiver. Positions are bytes of payload since the start."""

    def __init__(self, path: Path, rate: Rate, seconds: float, size: int) -> None:
        self.seconds, self.size = seconds, size
        self.segment, self.skb = mss(path), skb_payload(path)
        self.most = gso_segments(path)
        self.per_segment, self.sndbuf_max = sndbuf_per_segment(path), path.sndbuf_max
        # What waits for its reader is not offered again: where the window stops the sender, all of it is missing.
        self.window, self.plateau = initial_window(path), rcv_window(path) - max(path.watermark - 1, 0)
        self.wire, self.octet = float(rate.time_for(frame(path))), float(rate.time_for(Size(1)))
        # From leaving the wire to the arrival of the ACK; of which to the receiver.
        self.rest = base_rtt(path, packet(path), Size(packet(path).bytes - self.segment)).number - self.wire
        self.every = self.segment > own_segment(path, "receiver")  # which is what its rcv_mss is bounded by
        self.delay = path.delay.seconds
        self.cubic = Cubic()
        self.unsent: deque[int] = deque()  # where each skb of the send queue ends that is not sent yet
        self.flight: deque[_Sent] = deque()  # those that are sent and not acknowledged
        self.srtt = base_rtt(path, _SYN).number  # the handshake's
        self.near = GSO_BYTES >> (int(self.srtt * 1e6) >> _RTT_SHIFT)
        self.stamp, self.small = 0.0, 0  # when it last sent; where the last skb that ended in a part of a segment ended
        self.acks: deque[_Ack] = deque()
        self.lone: _Ack | None = None  # the ACK of a segment that waits for a second one
        self.held: deque[float] = deque()  # when each frame that the bottleneck holds is through
        self.una = self.nxt = self.written = self.sndbuf = self.peak = 0
        self.idle = 0.0  # when the wire has sent all that it was given
        self.started: float | None = None
        self.watermark, self.first = path.watermark, 0
        self.turn, self.block, self.effort = path.turn, path.block or sys.maxsize, path.effort.seconds
        self.asleep, self.left = False, 0
        self.ready = 0.0  # when the writer has its next block
        self.acked: tuple[list[float], list[int]] = ([], [])

    def result(self) -> Transfer:
        """Plays until everything written has arrived."""
        self._write(0.0)
        self._send(0.0)
        while (now := self._next()) <= self.seconds and now < inf:
            self._pass(now)
        written, sent, queue = self.written, self.nxt, max(0.0, self.idle - self.seconds)
        while (now := self._next()) < inf:
            self._pass(now)
        drained = self.idle + self.delay
        return Transfer(
            seconds=min(self.seconds, drained),
            written=written,
            total=self.written,
            sent=sent,
            queue=queue,
            started=self.started,
            first=self.first,
            drained=drained,
            peak=self.peak,
            acks=(tuple(self.acked[0]), tuple(self.acked[1])),
        )

    def _next(self) -> float:
        """When something happens next: an ACK comes, or the writer has its block; inf when nothing does any more."""
        return self._next_ack() if self.asleep else min(self._next_ack(), self.ready)

    def _next_ack(self) -> float:
        if self.acks:
            return self.acks[0].at
        return self.lone.at + _DELACK if self.lone else inf

    def _pass(self, now: float) -> None:
        """What happens at that time, and what follows from it at once."""
        if not self.acks and self.lone and self.lone.at + _DELACK <= now:
            self.acks.append(self.lone._replace(at=self.lone.at + _DELACK))
            self.lone = None
        if self.acks and self.acks[0].at <= now:
            self._take(self.acks.popleft())
        self._write(now)
        self._send(now)

    def _take(self, ack: _Ack) -> None:
        acked, self.una = ack.upto - self.una, ack.upto
        self.window = min(self.window + 2 * acked, self.plateau)  # tcp_grow_window()
        self.srtt += (ack.at - self.flight[0].at - self.srtt) / 8  # tcp_rtt_estimator()
        while self.flight and self.flight[0].end <= self.una:
            self.flight.popleft()
        self.cubic.acknowledged(ack.at, ack.at - ack.sent, acked // self.segment, self.una, self.nxt)
        self.acked[0].append(ack.at)
        self.acked[1].append(self.una)

    def _write(self, now: float) -> None:
        """The writer fills the buffer, then sleeps until a third of it is free (sk_stream_write_space).

        One that asks first, by select(), also stops where its turn ends and less than a third is free. One that does
        not writes block by block, and begins none after its time.
        """
        self.sndbuf = max(self.sndbuf, min(2 * self.cubic.cwnd * self.per_segment, self.sndbuf_max))
        queued = self._queued()
        if self.asleep and 3 * queued > 2 * self.sndbuf:
            return
        self.asleep, due = False, self._next_ack()
        while self.ready <= now and (self.left or self._begins(queued)):
            if queued >= self.sndbuf:
                self.asleep = True
                return
            step = min(self.skb, self.left)
            self._append(step)
            self.left -= step
            self.ready = now + _GRAIN + (0 if self.left else self.effort)
            if self.left and self.ready < due:
                now = self.ready
            queued = self._queued()

    def _begins(self, queued: int) -> bool:
        """Whether the writer begins to write again after what it wanted to write is written."""
        if self.written >= self.size or self.ready > self.seconds + self.effort:
            self.ready = inf
        elif self.turn and 3 * queued > 2 * self.sndbuf:
            self.asleep = True
        else:
            self.left = min(self.turn or self.block, self.size - self.written)
        return self.left > 0

    def _append(self, step: int) -> None:
        """Fills the last skb, then a new one."""
        if self.unsent:
            start = self.unsent[-2] if len(self.unsent) > 1 else self.nxt
            self.unsent[-1] += min(step, max(0, start + self.skb - self.written))
        self.written += step
        if not self.unsent or self.unsent[-1] < self.written:
            self.unsent.append(self.written)

    def _queued(self) -> int:
        unacked = self.written - self.una
        return unacked + OVERHEAD * -(-unacked // self.skb)

    def _send(self, now: float) -> None:
        """As much as cwnd, the receiver's window and the buffer allow, unless it is worth waiting: tcp_write_xmit()."""
        while self.held and self.held[0] <= now:
            self.held.popleft()
        before, short, burst = self.nxt, False, self._burst()
        while self.unsent:
            free = self.cubic.cwnd - self._inflight()
            quota = min(free, max(self.cubic.cwnd // 2, 1), burst) * self.segment  # tcp_cwnd_test()
            window = self.una + self.window - self.nxt
            if quota <= 0 or window < min(self.segment, self.unsent[0] - self.nxt):
                break
            length = self._grow(quota)
            if length > self.segment and self._defers(now, length, window, free * self.segment, burst * self.segment):
                short = free * self.segment < window
                break
            size = min(quota, length, window)
            if self.small > self.una and (size < length or length == self.written - self.nxt):
                size -= size % self.segment  # Nagle's, as Minshall has it: one part of a segment under way at most
            if not size:
                break
            self._transmit(now, size)
        short |= self._inflight() >= self.cubic.cwnd
        self.peak = max(self.peak, len(self.held))
        if short or self.nxt > before:
            self.cubic.sent(self._inflight(), short, self.una, self.nxt)

    def _inflight(self) -> int:
        return -(-(self.nxt - self.una) // self.segment)

    def _burst(self) -> int:
        """The most segments of one skb: tcp_tso_autosize(), with the rate of tcp_update_pacing_rate()."""
        rate = (2.0 if self.cubic.slow_start else 1.2) * self.cubic.cwnd * self.segment / self.srtt
        return min(max(min((int(rate) >> _PACING_SHIFT) + self.near, GSO_BYTES) // self.segment, _MIN_BURST), self.most)

    def _grow(self, quota: int) -> int:
        """Length of the first skb, topped up from the second: tcp_grow_skb()."""
        missing = self.nxt + quota - self.unsent[0]
        if missing > 0 and len(self.unsent) > 1:
            self.unsent[0] = min(self.unsent[0] + missing, self.unsent[1])
            if self.unsent[0] == self.unsent[1]:
                del self.unsent[1]
        return self.unsent[0] - self.nxt

    def _defers(self, now: float, length: int, window: int, free: int, burst: int) -> bool:
        """Whether it waits for room for a whole burst: tcp_tso_should_defer().

        Not where it has that, or all of an skb that is full, or a third of the window; nor after 1 ms without a
        segment, or when the next ACK is further away than that.
        """
        limit = min(window, free)
        if now - self.stamp > _PATIENCE or limit >= burst or (limit >= length and len(self.unsent) > 1):
            return False
        if limit >= min(self.window, self.cubic.cwnd * self.segment) // _WIN_DIVISOR or not self.flight:
            return False
        return self.flight[0].at + self.srtt - now <= min(self.srtt / 2, _PATIENCE)

    def _transmit(self, now: float, size: int) -> None:
        """One skb, cut into segments where it leaves."""
        end = self.nxt + size
        while self.nxt < end:
            payload = min(self.segment, end - self.nxt)
            self.nxt += payload
            self.idle = max(self.idle, now) + self.wire - (self.segment - payload) * self.octet
            self.held.append(self.idle + self.delay)
            if self.started is None and self.nxt >= self.watermark:
                self.started, self.first = self.idle + self.delay, self.nxt
            self._acknowledge(_Ack(self.idle + self.rest, self.nxt, now))
        self.stamp = now
        self.flight.append(_Sent(end, now))
        if size % self.segment:
            self.small = end
        if self.unsent[0] == end:
            self.unsent.popleft()
        # More than one segment, a part of one and the end of a write carry PSH: a reader who wakes acknowledges it.
        if self.lone and (end == self.written or (self.watermark <= 1 and (size > self.segment or self.small == end))):
            self.acks.append(self.lone)
            self.lone = None

    def _acknowledge(self, ack: _Ack) -> None:
        """Every second segment, or after a while."""
        if self.every:
            self.acks.append(ack)
        elif self.lone and ack.at <= self.lone.at + _DELACK:
            self.acks.append(ack)
            self.lone = None
        else:
            if self.lone:
                self.acks.append(self.lone._replace(at=self.lone.at + _DELACK))
            self.lone = ack
