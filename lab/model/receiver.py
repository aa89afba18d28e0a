"""The receiving end of a bulk transfer: what its reader leaves unread, the window that it offers, and when it
acknowledges.

Written after net/ipv4/tcp_input.c, tcp_output.c, tcp.c and tcp_timer.c of Linux 7.2, for a path without loss and a
process that reads all there is as soon as it is woken, and named as there. Positions are bytes of payload since the
start, times whole nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

from lab.model.endpoint import Timers
from lab.model.line import base_rtt
from lab.model.mss import mss, own_segment, segment
from lab.model.path import Path
from lab.model.skb import overhead
from lab.model.tuning import Tuning
from lab.model.window import fixed_ratio, initial_window, rcvbuf_first, window_scale
from lab.units import Size

__all__ = ["SYN", "Ack", "Receiver", "ReceiverConfig", "Segment"]

SYN = Size(60)  # IP packet: 20, 20 and 20 of options
MAX_SKB_FRAGS = 17
TCP_DEFAULT_SCALING_RATIO, TCP_RMEM_TO_WIN_SCALE = 128, 8
TCP_MSS_DEFAULT, TCP_MIN_MSS = 536, 88
TCP_INIT_CWND = 10
TCP_MAX_QUICKACKS = 16
NSEC_PER_USEC, NSEC_PER_MSEC = 1000, 10**6
GROWING_LEN = 128  # bytes of a segment that may widen the window: tcp_event_data_recv()
_NEVER = 1 << 62
_READ_SIZE = 1 << 20  # bytes


class Segment(NamedTuple):
    """A segment as it arrives."""

    len: int  # payload, bytes
    frags: int  # pieces of pages that it lies in
    psh: bool
    tsecr: int  # the time stamp that it echoes, ms


class Ack(NamedTuple):
    """A packet that acknowledges."""

    ack_seq: int
    window: int  # that is offered with it, bytes
    tsval: int  # its time stamp, ms
    has_data: bool  # whether it is an answer


@dataclass(frozen=True, slots=True)
class ReceiverConfig:
    """What the receiving socket starts from, and what its reader asks for."""

    timers: Timers
    rmem_default: int  # the receive buffer at first: tcp_rmem[1], bytes
    rmem_max: int  # and at most: tcp_rmem[2]
    rcv_wnd: int  # the window that the SYN-ACK offered, bytes
    skb_overhead: int  # what the head of an skb costs, bytes
    advmss: int  # payload of the full segment that it announced
    initial_rcv_mss: int  # what it takes for a full segment before it has seen one: tcp_initialize_rcv_mss()
    rcv_wscale: int
    fixed_ratio: int | None = None  # scaling_ratio of kernels before 6.6; None where it is measured
    timestamps: bool = True
    rcvlowat: int = 1  # bytes for which the reader wakes: SO_RCVLOWAT
    first_read_size: int = _NEVER  # bytes that its first call asks for
    read_size: int = _NEVER  # and every further one
    answers: bool = False  # whether it sends something back when it has read anything
    cookie: bool = False  # whether it has read a short message before

    @classmethod
    def of(cls, path: Path) -> Self:
        """What the path's receiver starts from: a reader with a low-water mark asks for that much first, then for 1 MiB
        at a time (`lab.workload.Bulk`); any other one takes what there is.
        """
        advmss = own_segment(path, "receiver")
        reads = {"first_read_size": path.rcvlowat, "read_size": _READ_SIZE} if path.rcvlowat else {}
        return cls(
            timers=Timers(path.hz, mss(path), int(base_rtt(path, SYN).number * 1e9)),
            rmem_default=rcvbuf_first(path),
            rmem_max=path.rcvbuf_max,
            rcv_wnd=initial_window(path),
            skb_overhead=overhead(path),
            advmss=advmss,
            initial_rcv_mss=min(advmss, segment(path, "receiver"), TCP_MSS_DEFAULT),
            rcv_wscale=window_scale(path),
            fixed_ratio=fixed_ratio(path),
            timestamps=path.timestamps,
            rcvlowat=max(path.rcvlowat, 1),
            answers=path.header_bytes > 0,
            cookie=path.control,
            **reads,
        )


class Receiver:
    """The state of the receiving socket and its reader."""

    def __init__(self, config: ReceiverConfig) -> None:
        """As tcp_init_buffer_space() leaves it."""
        self.config, self.timers = config, config.timers
        self.rcv_nxt = self.rcv_wup = self.copied_seq = 0
        self.rcvbuf, self.rcv_wnd = config.rmem_default, config.rcv_wnd
        self.scaling_ratio = config.fixed_ratio or TCP_DEFAULT_SCALING_RATIO
        self.window_clamp = max(2 * config.advmss, self._win_from_space(self.rcvbuf) - config.advmss)
        self.rcv_ssthresh = min(self.rcv_wnd, self.window_clamp)
        self.tuning = Tuning(min(self.rcv_ssthresh, TCP_INIT_CWND * config.advmss))
        self.rcv_mss, self.last_seg_size = config.initial_rcv_mss, 0
        self.rmem_alloc = 0
        self.tail_frags = MAX_SKB_FRAGS  # of the skb that was queued last
        self.quick = 0
        self.ato = self.lrcvtime = 0  # jiffies
        self.pingpong = False
        self.ack_scheduled = False  # ICSK_ACK_SCHED
        self.ack_pushed = 0  # ICSK_ACK_PUSHED; 2 with ICSK_ACK_PUSHED2
        if config.cookie:
            self._incr_quickack()
            self.quick -= 1
        self.answers = config.answers
        self.wanted = config.first_read_size  # bytes that the reader's call still waits for
        self.due = _NEVER  # when the delayed ACK's timer fires
        self.awake = False  # whether the reader is about to read
        self.now, self.acks = 0, list[Ack]()

    def receive(self, now: int, segment: Segment) -> list[Ack]:
        """What a segment sets off: tcp_rcv_established(). It may wake the reader."""
        self.now, self.acks = now, []
        now_us = now // NSEC_PER_USEC
        if self.config.timestamps and segment.len >= self.rcv_mss:
            self.tuning.rcv_rtt_measure_ts(now_us, segment.tsecr, self.rcv_nxt == self.copied_seq)
        self._queue_rcv(segment)
        self._measure_rcv_mss(segment)
        self.tuning.rcv_rtt_measure(now_us, self.rcv_nxt, self.rcv_wnd)
        self._event_data_recv()
        self._grow_window(segment.len)
        self._ack_snd_check()
        self.awake |= self._epollin_ready()
        return self.acks

    def read(self, now: int) -> list[Ack]:
        """The reader's turn: tcp_recvmsg(), call by call, each of which ends with __tcp_cleanup_rbuf()."""
        self.now, self.acks, self.awake = now, [], False
        while self.copied_seq < self.rcv_nxt:
            copied = min(self.rcv_nxt - self.copied_seq, self.wanted)
            self.copied_seq += copied
            self.wanted -= copied
            self._rcv_space_adjust()
            if self.copied_seq == self.rcv_nxt:
                self.rmem_alloc, self.tail_frags = 0, MAX_SKB_FRAGS
            if not self.wanted:
                self.wanted = self.config.read_size
            self._cleanup_rbuf()
        if self.answers:  # tcp_event_data_sent()
            self.answers, self.pingpong = False, True
            self._send_ack(has_data=True)
        return self.acks

    def delack_timer(self, now: int) -> list[Ack]:
        """The delayed ACK's timer: tcp_delack_timer_handler()."""
        self.now, self.acks = now, []
        self.ato = self.timers.ato_min if self.pingpong else min(2 * self.ato, self.timers.delack_max)
        self.pingpong = False
        self._send_ack()
        return self.acks

    def _epollin_ready(self) -> bool:
        """Whether the reader wakes: tcp_epollin_ready(), tcp_rmem_pressure()."""
        pressure = self.rmem_alloc > self.rcvbuf - (self.rcvbuf >> 3)
        enough = self.rcv_nxt - self.copied_seq >= self.config.rcvlowat
        return enough or pressure or self._receive_window() <= self.rcv_mss

    def _queue_rcv(self, segment: Segment) -> None:
        """tcp_queue_rcv(): an skb that joins the one before it costs its payload, one by itself its head too.

        skb_try_coalesce() joins no more pieces than an skb holds.
        """
        self.rcv_nxt += segment.len
        self.rmem_alloc += segment.len
        self.tail_frags += segment.frags
        if self.tail_frags > MAX_SKB_FRAGS:
            self.rmem_alloc += self.config.skb_overhead
            self.tail_frags = segment.frags

    def _measure_rcv_mss(self, segment: Segment) -> None:
        """What a full segment is, and whether this one ends a write: tcp_measure_rcv_mss()."""
        lss, self.last_seg_size = self.last_seg_size, 0
        if segment.len >= self.rcv_mss:
            if segment.len != self.rcv_mss:
                self._measure_scaling_ratio(segment.len)
            self.rcv_mss = min(segment.len, self.config.advmss)
            if segment.psh:
                self.ack_pushed = max(self.ack_pushed, 1)
            return
        if segment.len >= TCP_MSS_DEFAULT or (segment.len >= TCP_MIN_MSS and not segment.psh):
            self.last_seg_size = segment.len
            if segment.len == lss:
                self.rcv_mss = segment.len
                return
        self.ack_pushed = min(self.ack_pushed + 1, 2)

    def _measure_scaling_ratio(self, length: int) -> None:
        """The share of an skb that is payload: tcp_measure_rcv_mss(), since 6.6."""
        if self.config.fixed_ratio is not None:
            return
        ratio = (length << TCP_RMEM_TO_WIN_SCALE) // (length + self.config.skb_overhead)
        if ratio != self.scaling_ratio:
            self.scaling_ratio = ratio
            self.window_clamp = self._win_from_space(self.rcvbuf)
            self.tuning.space = min(self.tuning.space, self.window_clamp)

    def _event_data_recv(self) -> None:
        """How long an ACK may wait: tcp_event_data_recv()."""
        jiffies, ato_min = self.timers.jiffies(self.now), self.timers.ato_min
        gap, self.lrcvtime, self.ack_scheduled = jiffies - self.lrcvtime, jiffies, True
        if not self.ato:
            self._incr_quickack()
        elif gap <= ato_min // 2:
            self.ato = self.ato // 2 + ato_min // 2
        elif gap < self.ato:
            self.ato = min(self.ato // 2 + gap, self.timers.delack_max)

    def _incr_quickack(self) -> None:
        """At a connection's start a number of ACKs are not delayed: tcp_incr_quickack()."""
        self.quick = min(self.rcv_wnd // (2 * self.rcv_mss) or 2, TCP_MAX_QUICKACKS)
        self.ato = self.timers.ato_min

    def _grow_window(self, length: int) -> None:
        """The window widens by two segments for each one, and that asks for an ACK at once: tcp_grow_window()."""
        room = min(self.window_clamp, self._space()) - self.rcv_ssthresh
        if room > 0 and length >= GROWING_LEN:
            self.rcv_ssthresh += min(room, 2 * max(self.config.advmss, length))
            self.quick |= 1

    def _win_from_space(self, space: int) -> int:
        """tcp_win_from_space(): the share of a buffer that is offered."""
        return space * self.scaling_ratio >> TCP_RMEM_TO_WIN_SCALE

    def _space(self) -> int:
        """tcp_space(): the share of what is free."""
        return self._win_from_space(self.rcvbuf - self.rmem_alloc)

    def _receive_window(self) -> int:
        """tcp_receive_window(): what is left of the window that was offered last."""
        return max(self.rcv_wup + self.rcv_wnd - self.rcv_nxt, 0)

    def _select_window(self) -> int:
        """__tcp_select_window()."""
        allowed_space, free_space = self._win_from_space(self.rcvbuf), self._space()
        if free_space < min(self.window_clamp, allowed_space) >> 1:
            self.quick = 0
            free_space = free_space >> self.config.rcv_wscale << self.config.rcv_wscale
            if free_space < allowed_space >> 4 or free_space < self.rcv_mss:
                return 0
        free_space = min(free_space, self.rcv_ssthresh)
        if self.config.rcv_wscale:
            return self._scaled(free_space)
        if free_space - self.rcv_mss < self.rcv_wnd <= free_space:
            return self.rcv_wnd
        return free_space // self.rcv_mss * self.rcv_mss

    def _scaled(self, window: int) -> int:
        """The window as it can be expressed, rounded up."""
        return -(-window >> self.config.rcv_wscale) << self.config.rcv_wscale

    def _send_ack(self, has_data: bool = False) -> None:
        """tcp_select_window(): what was offered is not taken back. tcp_event_ack_sent()."""
        new_win, cur_win = self._select_window(), self._receive_window()
        self.rcv_wnd = self._scaled(cur_win) if new_win < cur_win else new_win
        self.rcv_wup = self.rcv_nxt
        if self.quick and self.ack_scheduled:  # tcp_dec_quickack_mode()
            self.quick -= 1
            if not self.quick:
                self.ato = self.timers.ato_min
        self.ack_scheduled, self.ack_pushed, self.due = False, 0, _NEVER
        self.acks.append(Ack(self.rcv_wup, self.rcv_wnd, self.now // NSEC_PER_MSEC, has_data))

    def _ack_snd_check(self) -> None:
        """At once or later: __tcp_ack_snd_check()."""
        full = self.rcv_nxt - self.rcv_wup > self.rcv_mss
        unread = self.rcv_nxt - self.copied_seq
        wider = full and (unread < self.config.rcvlowat or self._select_window() >= self.rcv_wnd)
        if wider or (self.quick and not self.pingpong):  # tcp_in_quickack_mode()
            self._send_ack()
        elif self.due == _NEVER:
            self._send_delayed_ack()

    def _send_delayed_ack(self) -> None:
        """tcp_send_delayed_ack()."""
        jiffies, timers = self.timers.jiffies(self.now), self.timers
        ato = min(self.ato, timers.delack_max, max(timers.jiffies(timers.rtt), timers.ato_min))
        self.due = timers.time_of(timers.expiry(jiffies + ato, jiffies))

    def _rcv_space_adjust(self) -> None:
        """tcp_rcv_space_adjust()."""
        unread = self.rcv_nxt - self.copied_seq
        rcvwin = self.tuning.rcvbuf_grow(self.now // NSEC_PER_USEC, self.copied_seq, unread)
        if rcvwin is not None:
            rcvbuf = min((rcvwin << TCP_RMEM_TO_WIN_SCALE) // self.scaling_ratio, self.config.rmem_max)
            if rcvbuf > self.rcvbuf:
                self.rcvbuf, self.window_clamp = rcvbuf, self._win_from_space(rcvbuf)

    def _cleanup_rbuf(self) -> None:
        """__tcp_cleanup_rbuf()."""
        full = self.rcv_nxt - self.rcv_wup > self.rcv_mss
        pushed = self.ack_pushed == 2 or (self.ack_pushed == 1 and not self.pingpong)
        if self.ack_scheduled and (full or (pushed and not self.rmem_alloc)):
            self._send_ack()
            return
        rcv_window_now = self._receive_window()
        if 2 * rcv_window_now <= self.window_clamp:
            new_window = self._select_window()
            if new_window and new_window >= 2 * rcv_window_now:
                self._send_ack()
