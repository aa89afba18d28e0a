"""Compute the growth of a receive buffer with the data that its reader takes per round trip: dynamic right-sizing.

Source: net/ipv4/tcp_input.c of Linux 7.2.13, 6.12.117 and 6.1.192, with the kernel's names. Here, a kernel between two
of these versions follows the rules of the older version, although stable releases also got some of the changes. Times
are whole microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

TCP_RCVBUF_LOW_RTT = 1000  # us: with a shorter RTT, a buffer grows less: tcp_rcvbuf_low_rtt
USEC_PER_MSEC = 1000
CUSHION = 16  # extra segments of room in a buffer, before this changed

_QUEUE_COUNTS_SINCE = (6, 12)  # "tcp: add receive queue awareness in tcp_rcv_space_adjust()"
_NO_ZERO_SAMPLES_SINCE = (6, 12)  # "tcp: remove zero TCP TS samples for autotuning"
_RTT_COUNTS_SINCE = (7, 2)  # tcp_rcvbuf_grow(), tcp_rcvbuf_low_rtt; no samples while data is unread


@dataclass(slots=True)
class Tuning:
    """Holds the rcvq_space and rcv_rtt_est of a struct tcp_sock, and updates them like the kernel."""

    version: tuple[int, ...]  # of the kernel
    advmss: int
    space: int  # the most bytes read in a round trip so far
    time: int = 0  # when the present round trip began, us
    seq: int = 0  # the position read by then
    rtt_us: int = 0  # eight times the mean, 0 before the first sample
    rcv_rtt_last_tsecr: int | None = None
    rtt_seq: int = 0  # the position that ends the present window
    rtt_time: int | None = None  # when the present window began, us

    def rcv_rtt_measure_ts(self, now: int, tsecr: int, full: bool, queue_empty: bool) -> None:
        """Take a sample from a full segment's echoed timestamp: tcp_rcv_rtt_measure_ts(), tcp_rcv_rtt_update()."""
        if tsecr == self.rcv_rtt_last_tsecr:
            return
        self.rcv_rtt_last_tsecr = tsecr
        delta = now // USEC_PER_MSEC - tsecr
        if not delta and self.version < _NO_ZERO_SAMPLES_SINCE:
            delta = 1
        sample = delta * USEC_PER_MSEC
        if not full or not sample:
            return
        if not self.rtt_us or sample << 3 < self.rtt_us:
            self.rtt_us = sample << 3
        elif queue_empty or self.version < _RTT_COUNTS_SINCE:
            self.rtt_us += sample - (self.rtt_us >> 3)

    def rcv_rtt_measure(self, now: int, rcv_nxt: int, rcv_wnd: int) -> None:
        """Take a sample when a whole window has arrived, which takes a round trip: tcp_rcv_rtt_measure()."""
        if self.rtt_time is not None:
            if rcv_nxt < self.rtt_seq:
                return
            sample = max(now - self.rtt_time, 1) << 3
            if not self.rtt_us or sample < self.rtt_us:
                self.rtt_us = sample
        self.rtt_seq, self.rtt_time = rcv_nxt + rcv_wnd, now

    def rcvbuf_grow(self, now: int, copied_seq: int, inq: int) -> int | None:
        """Return the new window after a round trip with more data than any earlier one: tcp_rcvbuf_grow().

        Return None if the buffer does not change: tcp_rcv_space_adjust().
        """
        if not self.rtt_us or now - self.time < self.rtt_us >> 3:
            return None
        copied, rcvwin = copied_seq - self.seq, None
        if self.version >= _QUEUE_COUNTS_SINCE:
            copied -= inq
        if copied > self.space:
            rcvwin = self.rcvwin(copied)
            self.space = copied
        self.seq, self.time = copied_seq, now
        return rcvwin

    def rcvwin(self, copied: int) -> int:
        """Return twice the data read plus room for slow start. Old kernels also add a cushion."""
        rtt_us, old = self.rtt_us >> 3, self.version < _RTT_COUNTS_SINCE
        rcvwin = 2 * copied + (CUSHION * self.advmss if old else 0)
        if rtt_us < TCP_RCVBUF_LOW_RTT and not old:
            return rcvwin + rcvwin * rtt_us // TCP_RCVBUF_LOW_RTT
        if old:
            return rcvwin + 2 * (rcvwin * (copied - self.space) // self.space)
        return rcvwin + 2 * rcvwin * (copied - self.space) // self.space
