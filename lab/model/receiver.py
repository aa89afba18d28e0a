"""Simulate the receiving end of a connection: its unread data, its offered window, and its acknowledgements.

Source: net/ipv4/tcp_input.c, tcp_output.c and tcp.c of Linux 7.2, with the kernel's names. The module covers a path
without loss and a process that reads all available data as soon as it wakes. Positions are payload bytes since the
start. Times are whole nanoseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from lab.model.packet import Ack, Segment
from lab.model.receive_half import NSEC_PER_USEC, ReceiveHalf
from lab.model.scenario import Scenario
from lab.model.window import initial_window

MAX_SKB_FRAGS = 17
NSEC_PER_MSEC = 10**6


@dataclass(slots=True)
class Received:
    """Describes an skb of the receive queue."""

    end_seq: int
    truesize: int
    frags: int
    cloned_until: int  # when this byte is acknowledged, others may join it; 0 if the sender does not keep it


class Receiver(ReceiveHalf):
    """Simulates the scenario's receiving socket and its reader. Its ACKs go to `transmit(now, ack)`."""

    def __init__(self, scenario: Scenario, transmit: Callable[[int, Ack], None]) -> None:
        super().__init__(scenario, initial_window(scenario))
        self.reader, self.transmit = scenario.reader, transmit
        self.timestamps = scenario.timestamps
        self.copied_seq = 0
        self.rmem_alloc = 0
        self.receive_queue: deque[Received] = deque()
        self.snd_una = 0  # the sender's; both share one kernel, in which the sender frees acknowledged data
        self.answer = self.reader.answer
        self.wanted = self.reader.first_read_size  # bytes that the reader's call still waits for
        self.awake = False  # whether the reader is about to read
        self.now = 0

    def receive_cookie(self, now: int) -> None:
        """Process a few bytes before the transfer, which are acknowledged at once."""
        self.tuning.rcv_rtt_measure(now // NSEC_PER_USEC, self.rcv_nxt, self.rcv_wnd)
        self.icsk_ack.event_data_recv(now, self.rcv_wnd)
        self.icsk_ack.event_ack_sent()

    def receive(self, now: int, segment: Segment) -> None:
        """Process a segment that acknowledges nothing new, and wake the reader if necessary: tcp_rcv_established()."""
        self.queue(now, segment)
        self.ack_snd_check()

    def queue(self, now: int, segment: Segment) -> None:
        """Queue a segment and update the state, without sending an ACK: tcp_queue_rcv(), tcp_event_data_recv()."""
        self.now = now
        if self.timestamps:
            full, queue_empty = segment.len >= self.icsk_ack.rcv_mss, self.rcv_nxt == self.copied_seq
            self.tuning.rcv_rtt_measure_ts(now // NSEC_PER_USEC, segment.tsecr, full, queue_empty)
        self._queue_rcv(segment.len, segment.frags, segment.cloned)
        self.event_data_recv(now, segment.len, segment.psh, self.rmem_alloc)

    def ack_snd_check(self) -> None:
        """Send or delay an ACK, and wake the reader if due: __tcp_ack_snd_check(), tcp_data_ready()."""
        wider = self.unacked() > self.icsk_ack.rcv_mss and (
            self.rcv_nxt - self.copied_seq < self.reader.rcvlowat or self._select_window() >= self.rcv_wnd
        )
        if wider or self.icsk_ack.quickack_mode or self.icsk_ack.delay(self.now):
            self.send_ack()
        self.awake |= self._epollin_ready()

    def read(self, now: int) -> None:
        """Let the reader read: calls of tcp_recvmsg(), each of which ends with __tcp_cleanup_rbuf()."""
        self.now, self.awake = now, False
        while self.receive_queue:
            self._recvmsg()
            self._cleanup_rbuf()
        if self.answer:
            self.icsk_ack.event_data_sent(now)
            self.send_ack(self.answer)
            self.answer = 0

    def delack_timer(self, now: int) -> None:
        """Send the delayed ACK after its timer has fired."""
        self.now = now
        self.icsk_ack.expire()
        self.send_ack()

    def _recvmsg(self) -> None:
        """Simulate one call, or its part until the call sleeps: tcp_recvmsg_locked()."""
        while self.receive_queue and self.wanted:
            skb = self.receive_queue[0]
            used = min(skb.end_seq - self.copied_seq, self.wanted)
            self.copied_seq += used
            self.wanted -= used
            self._rcv_space_adjust()
            if self.copied_seq == skb.end_seq:
                self.rmem_alloc -= self.receive_queue.popleft().truesize
        self.wanted = self.wanted or self.reader.read_size

    def _epollin_ready(self) -> bool:
        """Decide whether the reader wakes: tcp_epollin_ready(), tcp_rmem_pressure()."""
        pressure = self.rmem_alloc > self.rcvbuf - (self.rcvbuf >> 3)
        enough = self.rcv_nxt - self.copied_seq >= self.reader.rcvlowat
        return enough or pressure or self._receive_window() <= self.icsk_ack.rcv_mss

    def _queue_rcv(self, length: int, frags: int, cloned: bool) -> None:
        """Queue a segment: tcp_queue_rcv().

        An skb that joins the previous skb costs only its payload; any other skb also costs its head. skb_try_coalesce()
        joins at most as many fragments as an skb holds, and never joins an skb to a cloned one (skb_cloned()).
        """
        self.rcv_nxt += length
        self.rmem_alloc += length
        tail = self.receive_queue[-1] if self.receive_queue else None
        if tail and tail.cloned_until <= self.snd_una and tail.frags + frags <= MAX_SKB_FRAGS:
            tail.end_seq = self.rcv_nxt
            tail.truesize += length
            tail.frags += frags
        else:
            self.rmem_alloc += self.skb_overhead
            cloned_until = self.rcv_nxt if cloned else 0
            self.receive_queue.append(Received(self.rcv_nxt, length + self.skb_overhead, frags, cloned_until))

    def _space(self) -> int:
        """Return the window that is offered for the free buffer: tcp_space()."""
        return self.win_from_space(self.rcvbuf - self.rmem_alloc)

    def _receive_window(self) -> int:
        """Return the unused part of the last offered window: tcp_receive_window()."""
        return max(self.rcv_wup + self.rcv_wnd - self.rcv_nxt, 0)

    def _select_window(self) -> int:
        """Return the window that could be offered now: __tcp_select_window()."""
        free_space, mss, ssthresh = self._space(), self.icsk_ack.rcv_mss, self.rcv_ssthresh
        if free_space < self.window_clamp >> 1:
            allowed_space = self.win_from_space(self.rcvbuf)
            if free_space < allowed_space >> 1:
                self.icsk_ack.quick = 0
                free_space = free_space >> self.rcv_wscale << self.rcv_wscale
                if free_space < allowed_space >> 4 or free_space < mss:
                    return 0
        free_space = free_space if free_space < ssthresh else ssthresh
        if self.rcv_wscale:
            return self.scaled(free_space)
        if free_space - mss < self.rcv_wnd <= free_space:
            return self.rcv_wnd
        return free_space // mss * mss

    def send_ack(self, length: int = 0) -> None:
        """Send an ACK, pure or with `length` bytes of data."""
        self.transmit(self.now, self.acknowledge(self.now, length))

    def acknowledge(self, now: int, length: int) -> Ack:
        """Return the acknowledgement of a packet with `length` bytes of data: tcp_select_window().

        An offered window never shrinks.
        """
        new_win, cur_win = self._select_window(), self._receive_window()
        self.rcv_wnd = self.scaled(cur_win) if new_win < cur_win else new_win
        self.rcv_wup = self.rcv_nxt
        self.icsk_ack.event_ack_sent()
        return Ack(self.rcv_wup, self.rcv_wnd, now // NSEC_PER_MSEC, length)

    def _rcv_space_adjust(self) -> None:
        """Let the buffer grow with the amount of data read: tcp_rcv_space_adjust()."""
        unread = self.rcv_nxt - self.copied_seq
        rcvwin = self.tuning.rcvbuf_grow(self.now // NSEC_PER_USEC, self.copied_seq, unread)
        if rcvwin is not None:
            self.rcvbuf_grow(rcvwin)

    def _cleanup_rbuf(self) -> None:
        """Send an ACK after a read if an ACK is due or the window has doubled: __tcp_cleanup_rbuf()."""
        if self.icsk_ack.must_follow_read(self.unacked(), not self.rmem_alloc):
            self.send_ack()
            return
        rcv_window_now = self._receive_window()
        if 2 * rcv_window_now <= self.window_clamp:
            new_window = self._select_window()
            if new_window and new_window >= 2 * rcv_window_now:
                self.send_ack()
