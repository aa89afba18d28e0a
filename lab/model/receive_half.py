"""Simulate what the receive halves of a TCP connection and of a Multipath TCP subflow share: the buffer and the window.

Source: net/ipv4/tcp_input.c, tcp_output.c and tcp.c of Linux 7.2, with the kernel's names. Positions are payload bytes
since the start. Times are whole nanoseconds.
"""

from __future__ import annotations

from lab.model.cubic import TCP_INIT_CWND
from lab.model.delayed_ack import DelayedAck, Timers
from lab.model.line import base_rtt
from lab.model.mss import own_segment
from lab.model.packet import SYN
from lab.model.scenario import Scenario
from lab.model.skb import SHARED_INFO, SK_BUFF, overhead, tcp_header
from lab.model.tuning import Tuning
from lab.model.window import (
    TCP_DEFAULT_SCALING_RATIO,
    TCP_RMEM_TO_WIN_SCALE,
    adv_win_scale,
    initial_rcv_mss,
    win_by_scale,
    window_scale,
)

NSEC_PER_USEC = 1000
GROWING_LEN = 128  # bytes: the shortest segment that may widen the window: tcp_event_data_recv()


class ReceiveHalf:
    """Holds a socket's receive buffer, its offered window, and the state of its acknowledgements."""

    def __init__(self, scenario: Scenario, rcv_wnd: int) -> None:
        """Begin in the state after tcp_init_buffer_space(). `rcv_wnd` is the first offered window, in bytes."""
        rtt, advmss = int(base_rtt(scenario, SYN).number * 1e9), own_segment(scenario.reversed())
        self.icsk_ack = DelayedAck(Timers.of(scenario.kernel), advmss, initial_rcv_mss(scenario), rtt)
        self.skb_overhead = overhead(scenario.kernel)  # the memory of an skb's head, bytes
        self.max_header = tcp_header(scenario.kernel)
        self.rcv_wscale = window_scale(scenario)
        self.rcv_nxt = self.rcv_wup = 0
        self.rcvbuf, self.rmem_max = scenario.receiver.sysctl("tcp_rmem", 1), scenario.rcvbuf_max
        self.rcv_wnd = rcv_wnd
        self.adv_win_scale = adv_win_scale(scenario)  # for kernels before 6.6; later ones measure scaling_ratio
        self.scaling_ratio = TCP_DEFAULT_SCALING_RATIO
        self.window_clamp = max(2 * advmss, self.win_from_space(self.rcvbuf) - advmss)
        self.rcv_ssthresh = min(self.rcv_wnd, self.window_clamp)
        self.tuning = Tuning(scenario.kernel.version, advmss, min(self.rcv_ssthresh, TCP_INIT_CWND * advmss))

    def event_data_recv(self, now: int, length: int, psh: bool, held: int) -> None:
        """Update the state after a segment with `length` bytes: tcp_measure_rcv_mss(), tcp_event_data_recv().

        `held` is the memory of the data in the buffer, including this segment's.
        """
        if length > self.icsk_ack.rcv_mss:
            self._measure_scaling_ratio(length)
        self.icsk_ack.measure_rcv_mss(length, psh)
        self.tuning.rcv_rtt_measure(now // NSEC_PER_USEC, self.rcv_nxt, self.rcv_wnd)
        self.icsk_ack.event_data_recv(now, self.rcv_wnd)
        self._grow_window(length, held)

    def _measure_scaling_ratio(self, length: int) -> None:
        """Measure the payload's share of an skb: tcp_measure_rcv_mss(), since 6.6."""
        ratio = self.ratio(length)
        if ratio != self.scaling_ratio:
            self.scaling_ratio = ratio
            self.window_clamp = self.win_from_space(self.rcvbuf)
            self.tuning.space = min(self.tuning.space, self.window_clamp)

    def ratio(self, length: int) -> int:
        """Return the payload's share of a segment's skb.

        Kernels before 6.6 did not measure this share, so it never changes.
        """
        if self.adv_win_scale is not None:
            return self.scaling_ratio
        return (length << TCP_RMEM_TO_WIN_SCALE) // (length + self.skb_overhead)

    def _grow_window(self, length: int, held: int) -> None:
        """Widen the window by two segments for each received segment, and request a quick ACK: tcp_grow_window()."""
        room = self.room_to_grow(held)
        if room > 0 and length >= GROWING_LEN:
            self.rcv_ssthresh += min(room, 2 * max(self.icsk_ack.advmss, length))
            self.icsk_ack.quick |= 1

    def room_to_grow(self, held: int) -> int:
        """Return how far the window may still grow with `held` bytes of memory in use: tcp_grow_window()."""
        return min(self.window_clamp, self.win_from_space(self.rcvbuf - held)) - self.rcv_ssthresh

    def win_from_space(self, space: int) -> int:
        """Return the window that is offered for a buffer: tcp_win_from_space()."""
        if self.adv_win_scale is not None:
            return win_by_scale(space, self.adv_win_scale)
        return space * self.scaling_ratio >> TCP_RMEM_TO_WIN_SCALE

    def _space_from_win(self, window: int) -> int:
        """Return the buffer for a window: tcp_space_from_win(). Before 6.6, the buffer had room for the window's
        segments.
        """
        if self.adv_win_scale is None:
            return (window << TCP_RMEM_TO_WIN_SCALE) // self.scaling_ratio
        advmss = self.icsk_ack.advmss
        rcvmem = advmss + self.max_header + SK_BUFF + SHARED_INFO
        while self.win_from_space(rcvmem) < advmss:
            rcvmem += 128
        return window // advmss * rcvmem

    def rcvbuf_grow(self, rcvwin: int) -> None:
        """Let the buffer grow until it holds the window `rcvwin`, in bytes: tcp_rcvbuf_grow()."""
        rcvbuf = min(self._space_from_win(rcvwin), self.rmem_max)
        if rcvbuf > self.rcvbuf:
            self.rcvbuf, self.window_clamp = rcvbuf, self.win_from_space(rcvbuf)

    def scaled(self, window: int) -> int:
        """Round a window up to a value that the window scale can express."""
        return -(-window >> self.rcv_wscale) << self.rcv_wscale

    def unacked(self) -> int:
        """Return the number of bytes that are received and not acknowledged."""
        return self.rcv_nxt - self.rcv_wup
