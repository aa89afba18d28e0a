"""The receiving end of a bulk transfer: what its reader leaves unread, the window that it offers, and when it
acknowledges.

Written after net/ipv4/tcp_input.c, tcp_output.c, tcp.c and tcp_timer.c, for a path without loss and a process that
reads all there is as soon as it is woken. Positions are bytes of payload since the start, times whole nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

from lab.model.endpoint import Rules
from lab.model.line import base_rtt
from lab.model.mss import mss, own_segment, segment
from lab.model.path import Path
from lab.model.skb import overhead
from lab.model.tuning import Tuning
from lab.model.window import fixed_ratio, initial_window, rcvbuf_first, window_scale
from lab.units import Size

__all__ = ["SYN", "Ack", "Receiver", "Segment", "Terms"]

SYN = Size(60)  # IP packet: 20, 20 and 20 of options
_US = 1000  # ns
_PIECES = 17  # of pages that an skb holds at most: MAX_SKB_FRAGS
_RATIO = 128  # TCP_DEFAULT_SCALING_RATIO
_MSS_DEFAULT, _MSS_LEAST = 536, 88  # TCP_MSS_DEFAULT, TCP_MIN_MSS
_QUICK = 16  # TCP_MAX_QUICKACKS
_NEVER = 1 << 62
_CHUNK = 1 << 20  # bytes
_SMALL = 128  # bytes of a segment that does not widen the window


class Segment(NamedTuple):
    """A segment as it arrives: its payload, the pieces of pages that it lies in, whether it has PSH, and the time
    stamp that it echoes, in ms.
    """

    payload: int
    pieces: int
    push: bool
    echo: int


class Ack(NamedTuple):
    """What is acknowledged, the window that is offered with it, its time stamp in ms, and whether it brings data."""

    upto: int
    window: int
    stamp: int
    answer: bool


@dataclass(frozen=True, slots=True)
class Terms:
    """What the receiver starts from. `buffer` and `most` are tcp_rmem[1] and [2], `window` what the SYN-ACK offered,
    `overhead` what an skb's head costs, `segment` its advmss, `guess` what it takes for a full segment before it has
    seen one, `scale` its window's;
    `ratio`, in 256ths, is the fixed share of kernels before 6.6 (None: it is measured).

    Its reader wakes for `watermark` bytes (SO_RCVLOWAT), asks for `first` bytes, and then for `chunk` again and again.
    One that `answers` sends something back when it has read anything. A `cookie` is a short message that it has read
    before.
    """

    rules: Rules
    buffer: int
    most: int
    window: int
    overhead: int
    segment: int
    guess: int
    scale: int
    ratio: int | None = None
    timestamps: bool = True
    watermark: int = 1
    first: int = _NEVER
    chunk: int = _NEVER
    answers: bool = False
    cookie: bool = False

    @classmethod
    def of(cls, path: Path) -> Self:
        """Those of the path's receiver: a reader with a watermark asks for that much first, then for 1 MiB at a time
        (`lab.workload.Bulk`); any other one takes what there is.
        """
        expected = own_segment(path, "receiver")
        reads = {"first": path.watermark, "chunk": _CHUNK} if path.watermark else {}
        return cls(
            rules=Rules(path.hz, mss(path), int(base_rtt(path, SYN).number * 1e9)),
            buffer=rcvbuf_first(path),
            most=path.rcvbuf_max,
            window=initial_window(path),
            overhead=overhead(path),
            segment=expected,
            guess=min(expected, segment(path, "receiver"), _MSS_DEFAULT),
            scale=window_scale(path),
            ratio=fixed_ratio(path),
            timestamps=path.timestamps,
            watermark=max(path.watermark, 1),
            answers=path.greeting > 0,
            cookie=path.control,
            **reads,
        )


class Receiver:
    """The state of the receiving socket and its reader."""

    def __init__(self, terms: Terms) -> None:
        """As tcp_init_buffer_space() leaves it."""
        self.terms, self.rules, self.unit = terms, terms.rules, 1 << terms.scale
        self.nxt = self.acked = self.read = 0  # rcv_nxt, rcv_wup, copied_seq
        self.buffer, self.window = terms.buffer, terms.window  # sk_rcvbuf, rcv_wnd
        self.ratio = terms.ratio or _RATIO
        self.clamp = max(2 * terms.segment, (self.buffer * self.ratio >> 8) - terms.segment)  # window_clamp
        self.ceiling = min(self.window, self.clamp)  # rcv_ssthresh
        self.tuning = Tuning(min(self.ceiling, 10 * terms.segment))
        self.segment, self.odd = terms.guess, 0  # rcv_mss, last_seg_size
        self.memory, self.pieces = 0, _PIECES  # sk_rmem_alloc; pieces of the skb that was queued last
        self.quick = self.ato = self.last = 0  # the last two in ticks: lrcvtime
        if terms.cookie:
            self._quicken()
            self.quick -= 1
        self.scheduled, self.pushed = False, 0  # ICSK_ACK_SCHED; ICSK_ACK_PUSHED, and with a second one ..._PUSHED2
        self.pingpong, self.answers = False, terms.answers
        self.wanted = terms.first  # bytes that the reader's call still waits for
        self.due = _NEVER  # when the delayed ACK's timer fires
        self.awake = False  # whether the reader is about to read
        self.now, self.acks = 0, list[Ack]()

    def receive(self, now: int, segment: Segment) -> list[Ack]:
        """What a segment sets off: tcp_rcv_established(). It may wake the reader."""
        self.now, self.acks = now, []
        if self.terms.timestamps and segment.payload >= self.segment:
            self.tuning.echoed(now // _US, segment.echo, self.nxt == self.read)
        self._queue(segment)
        self._measure(segment)
        self.tuning.filled(now // _US, self.nxt, self.window)
        self._pace()
        self._grow(segment.payload)
        unread, watermark = self.nxt - self.read, self.terms.watermark
        full = self.nxt - self.acked > self.segment
        if (full and (unread < watermark or self._select() >= self.window)) or (self.quick and not self.pingpong):
            self._acknowledge()  # __tcp_ack_snd_check()
        elif self.due == _NEVER:
            self._delay()
        pressed = self.memory > self.buffer - (self.buffer >> 3)
        self.awake |= unread >= watermark or pressed or self._offered() <= self.segment  # tcp_epollin_ready()
        return self.acks

    def consume(self, now: int) -> list[Ack]:
        """The reader's turn: tcp_recvmsg(), call by call, each of which ends with __tcp_cleanup_rbuf()."""
        self.now, self.acks, self.awake = now, [], False
        while self.read < self.nxt:
            step = min(self.nxt - self.read, self.wanted)
            self.read += step
            self.wanted -= step
            self._tune()
            if self.read == self.nxt:
                self.memory, self.pieces = 0, _PIECES
            if not self.wanted:
                self.wanted = self.terms.chunk
            self._clean_up()
        if self.answers:  # tcp_event_data_sent()
            self.answers, self.pingpong = False, True
            self._acknowledge(answer=True)
        return self.acks

    def expire(self, now: int) -> list[Ack]:
        """The delayed ACK's timer: tcp_delack_timer_handler()."""
        self.now, self.acks = now, []
        self.ato = self.rules.ato_min if self.pingpong else min(2 * self.ato, self.rules.ato_max)
        self.pingpong = False
        self._acknowledge()
        return self.acks

    def _queue(self, segment: Segment) -> None:
        """tcp_queue_rcv(): an skb that joins the one before it costs its payload, one by itself its head too.

        skb_try_coalesce() joins no more pieces than an skb holds.
        """
        self.nxt += segment.payload
        self.memory += segment.payload
        self.pieces += segment.pieces
        if self.pieces > _PIECES:
            self.memory += self.terms.overhead
            self.pieces = segment.pieces

    def _measure(self, segment: Segment) -> None:
        """What a full segment is, and whether this one ends a write: tcp_measure_rcv_mss()."""
        size, odd, self.odd = segment.payload, self.odd, 0
        if size >= self.segment:
            if size != self.segment and self.terms.ratio is None:
                ratio = size * 256 // (size + self.terms.overhead)
                if ratio != self.ratio:
                    self.ratio, self.clamp = ratio, self.buffer * ratio >> 8
                    self.tuning.space = min(self.tuning.space, self.clamp)
            self.segment = min(size, self.terms.segment)
            if segment.push:
                self.pushed = max(self.pushed, 1)
            return
        if size >= _MSS_DEFAULT or (size >= _MSS_LEAST and not segment.push):
            self.odd = size
            if size == odd:
                self.segment = size
                return
        self.pushed = min(self.pushed + 1, 2)

    def _pace(self) -> None:
        """How long an ACK may wait: tcp_event_data_recv()."""
        tick, low = self.rules.jiffy(self.now), self.rules.ato_min
        gap, self.last, self.scheduled = tick - self.last, tick, True
        if not self.ato:
            self._quicken()
        elif gap <= low // 2:
            self.ato = self.ato // 2 + low // 2
        elif gap < self.ato:
            self.ato = min(self.ato // 2 + gap, self.rules.ato_max)

    def _quicken(self) -> None:
        """At a connection's start a number of ACKs are not delayed: tcp_incr_quickack()."""
        self.quick, self.ato = min(self.window // (2 * self.segment) or 2, _QUICK), self.rules.ato_min

    def _grow(self, payload: int) -> None:
        """The window widens by two segments for each one, and that asks for an ACK at once: tcp_grow_window()."""
        room = min(self.clamp, self._space()) - self.ceiling
        if room > 0 and payload >= _SMALL:
            self.ceiling += min(room, 2 * max(self.terms.segment, payload))
            self.quick |= 1

    def _space(self) -> int:
        """tcp_space(): the share of what is free that is offered."""
        return (self.buffer - self.memory) * self.ratio >> 8

    def _offered(self) -> int:
        """tcp_receive_window(): what is left of the window that was offered last."""
        return max(self.acked + self.window - self.nxt, 0)

    def _select(self) -> int:
        """__tcp_select_window()."""
        allowed, free = self.buffer * self.ratio >> 8, self._space()
        if free < min(self.clamp, allowed) >> 1:
            self.quick = 0
            free = free // self.unit * self.unit
            if free < allowed >> 4 or free < self.segment:
                return 0
        free = min(free, self.ceiling)
        if self.unit > 1:
            return -(-free // self.unit) * self.unit
        if free - self.segment < self.window <= free:
            return self.window
        return free // self.segment * self.segment

    def _acknowledge(self, answer: bool = False) -> None:
        """tcp_select_window(): what was offered is not taken back. tcp_event_ack_sent()."""
        new, offered = self._select(), self._offered()
        self.window = -(-offered // self.unit) * self.unit if new < offered else new
        self.acked = self.nxt
        if self.quick and self.scheduled:
            self.quick -= 1
            if not self.quick:
                self.ato = self.rules.ato_min
        self.scheduled, self.pushed, self.due = False, 0, _NEVER
        self.acks.append(Ack(self.acked, self.window, self.now // 10**6, answer))

    def _delay(self) -> None:
        """tcp_send_delayed_ack()."""
        jiffy = self.rules.jiffy(self.now)
        ato = min(self.ato, self.rules.ato_max, max(self.rules.jiffy(self.rules.rtt), self.rules.ato_min))
        self.due = self.rules.tick(self.rules.fires(jiffy + ato, jiffy))

    def _tune(self) -> None:
        """tcp_rcv_space_adjust()."""
        wanted = self.tuning.grown(self.now // _US, self.read, self.nxt - self.read)
        if wanted is not None:
            buffer = min((wanted << 8) // self.ratio, self.terms.most)
            if buffer > self.buffer:
                self.buffer, self.clamp = buffer, buffer * self.ratio >> 8

    def _clean_up(self) -> None:
        """__tcp_cleanup_rbuf()."""
        full = self.nxt - self.acked > self.segment
        pushed = self.pushed == 2 or (self.pushed == 1 and not self.pingpong)
        if self.scheduled and (full or (pushed and not self.memory)):
            self._acknowledge()
            return
        offered = self._offered()
        if 2 * offered <= self.clamp:
            new = self._select()
            if new and new >= 2 * offered:
                self._acknowledge()
