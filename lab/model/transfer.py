"""A bulk transfer played forward, ACK by ACK: what slow start and the two windows let through in a finite time.

The rules are the kernel's (net/ipv4/tcp_cubic.c, tcp_input.c, tcp_output.c, tcp.c), on a path without loss, with a
receiver that reads at once and acknowledges every second segment. What they decide together has no closed form:
a sender short of buffer space sends a third of it at a time, because its writer sleeps until a third is free.
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from lab.model.cubic import Cubic
from lab.model.line import ModelError, base_rtt, frame, mss
from lab.model.path import Path
from lab.model.window import OVERHEAD, initial_window, rcv_window, skb_payload, sndbuf_per_segment
from lab.units import Rate, Size

__all__ = ["Transfer", "transfer"]

_DELACK = 0.040  # seconds that the ACK of a lone segment waits: TCP_DELACK_MIN, HZ/25


@dataclass(frozen=True, slots=True)
class Transfer:
    """What a writer that stops after `seconds` gets through. Times in seconds since its first write.

    Bytes `written` to the socket and `sent` to the wire by then; a packet sent at the end waits `queue` for the wire.
    The reader first wakes at `started` (None: never) and finds `first` bytes; all that was written has arrived at
    `drained`. `peak` is the most frames that the bottleneck held.
    """

    seconds: float
    written: int
    sent: int
    queue: float
    started: float | None
    first: int
    drained: float
    peak: int


def transfer(path: Path) -> Transfer:
    """Plays the path's workload. Raises ModelError for a path without a rate or a workload without a duration."""
    if path.rate is None or path.duration is None:
        raise ModelError("a transfer is predicted for a path with a rate and a workload with a duration")
    hops = tuple(replace(hop, limit=0, loss=0.0) for hop in path.forward)
    return _played(replace(path, forward=hops))


@lru_cache(maxsize=64)
def _played(path: Path) -> Transfer:
    """`path` without what the play does not look at, so that a sweep over it is played once."""
    assert path.rate is not None
    assert path.duration is not None
    return _Play(path, path.rate, path.duration.seconds).result()


class _Ack(NamedTuple):
    at: float  # when it arrives at the sender
    upto: int
    sent: float  # when its last segment was


class _Play:
    """Sender, wire and receiver. Positions are bytes of payload since the start."""

    def __init__(self, path: Path, rate: Rate, seconds: float) -> None:
        self.seconds = seconds
        self.segment, self.skb = mss(path), skb_payload(path)
        self.per_segment, self.sndbuf_max = sndbuf_per_segment(path), path.sndbuf_max
        # What waits for its reader is not offered again: where the window stops the sender, all of it is missing.
        self.window, self.plateau = initial_window(path), rcv_window(path) - path.watermark
        self.wire = float(rate.time_for(frame(path)))
        # From leaving the wire to the arrival of the ACK; of which to the receiver.
        self.rest = base_rtt(path, path.mtu, Size(path.mtu.bytes - self.segment)).number - self.wire
        self.delay = path.delay.seconds
        self.cubic = Cubic()
        self.acks: deque[_Ack] = deque()
        self.lone: _Ack | None = None  # the ACK of a segment that waits for a second one
        self.held: deque[float] = deque()  # when each frame that the bottleneck holds is through
        self.una = self.nxt = self.written = self.sndbuf = self.peak = 0
        self.idle = 0.0  # when the wire has sent all that it was given
        self.started: float | None = None
        self.watermark, self.first = path.watermark, 0
        self.asleep, self.turn, self.left = False, path.turn or sys.maxsize, 0

    def result(self) -> Transfer:
        """Plays until everything written has arrived."""
        self._write()
        self._send(0.0)
        while (ack := self._next_ack()) and ack.at <= self.seconds:
            self._take(ack)
            self._write()
            self._send(ack.at)
        written, sent, queue = self.written, self.nxt, max(0.0, self.idle - self.seconds)
        while ack:
            self._take(ack)
            self._send(ack.at)
            ack = self._next_ack()
        drained = self.idle + self.delay
        return Transfer(self.seconds, written, sent, queue, self.started, self.first, drained, self.peak)

    def _next_ack(self) -> _Ack | None:
        if not self.acks and self.lone:
            self.acks.append(self.lone._replace(at=self.lone.at + _DELACK))
            self.lone = None
        return self.acks.popleft() if self.acks else None

    def _take(self, ack: _Ack) -> None:
        acked, self.una = ack.upto - self.una, ack.upto
        self.window = min(self.window + 2 * acked, self.plateau)  # tcp_grow_window()
        self.cubic.acknowledged(ack.at, ack.at - ack.sent, acked // self.segment, self.una, self.nxt)

    def _write(self) -> None:
        """The writer fills the buffer, then sleeps until a third of it is free (sk_stream_write_space).

        One that asks first, by select(), also stops where its turn ends and less than a third is free.
        """
        self.sndbuf = max(self.sndbuf, min(2 * self.cubic.cwnd * self.per_segment, self.sndbuf_max))
        queued = self._queued()
        if self.asleep and 3 * queued > 2 * self.sndbuf:
            return
        while queued < self.sndbuf and (self.left or 3 * queued <= 2 * self.sndbuf):
            self.left = self.left or self.turn
            step = min(self.skb, self.left)
            self.written += step
            self.left -= step
            queued = self._queued()
        self.asleep = True

    def _queued(self) -> int:
        unacked = self.written - self.una
        return unacked + OVERHEAD * -(-unacked // self.skb)

    def _send(self, now: float) -> None:
        """As much as cwnd, the receiver's window and the buffer allow."""
        allowed = self.una + self.cubic.cwnd * self.segment
        stop = min(allowed, self.una + self.window, self.written)
        while self.held and self.held[0] <= now:
            self.held.popleft()
        while self.nxt + self.segment <= stop:
            self.nxt += self.segment
            self.idle = max(self.idle, now) + self.wire
            self.held.append(self.idle + self.delay)
            ack = _Ack(self.idle + self.rest, self.nxt, now)
            if self.started is None and self.nxt >= self.watermark:
                self.started, self.first = self.idle + self.delay, self.nxt
            if self.lone and ack.at <= self.lone.at + _DELACK:
                self.acks.append(ack)
                self.lone = None
            else:
                if self.lone:
                    self.acks.append(self.lone._replace(at=self.lone.at + _DELACK))
                self.lone = ack
        if self.lone and self.nxt + self.segment > self.written:
            self.acks.append(self.lone)  # the end of a write carries PSH: its reader acknowledges it at once
            self.lone = None
        self.peak = max(self.peak, len(self.held))
        self.cubic.sent((self.nxt - self.una) // self.segment, self.nxt + self.segment > allowed, self.una, self.nxt)
